import { PlatformError } from "../../core/errors.ts";
import type { Problem, SourceDocument } from "./source-document.ts";

/** What a file says cannot be done. */
export class DefinitionError extends Error {
  /** Of the field. */
  readonly path: readonly PropertyKey[];

  constructor(path: readonly PropertyKey[], message: string) {
    super(message);
    this.name = "DefinitionError";
    this.path = path;
  }
}

/** The error as a problem of the document; errors that are not about it are thrown on. */
export function problemOf(error: unknown, source: SourceDocument): Problem {
  if (error instanceof DefinitionError) {
    return { place: source.placeOf(error.path), message: error.message };
  }
  // The API's own sentences begin with the field.
  if (error instanceof PlatformError) {
    const field = /^[a-z_]+(?:\.\w+)*(?=: )/.exec(error.message)?.[0] ?? "";
    return { place: source.placeOf(field.split(".")), message: error.message };
  }
  throw error;
}
