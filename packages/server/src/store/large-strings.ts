import { createHash } from "node:crypto";
import { toJson } from "./json-column.ts";

/** Keys from the outermost value inwards. */
export type Path = readonly (string | number)[];

/** A string that was taken out of a body. */
export interface LargeString {
  readonly path: Path;
  /** Lowercase hex, of `body`. */
  readonly sha256: string;
  /** The string as JSON text. */
  readonly body: string;
}

/**
 * A copy of the value in which every string over `limit` characters is empty, and those strings.
 * References stand beside the value, not in it: whatever a client sends cannot look like one.
 */
export function takeOut<T>(
  value: T,
  limit: number,
): { readonly rest: T; readonly taken: readonly LargeString[] } {
  const taken: LargeString[] = [];
  const rest = without(value, [], limit, taken);
  // Only strings were exchanged for other strings.
  return { rest: rest as T, taken };
}

function without(value: unknown, path: Path, limit: number, taken: LargeString[]): unknown {
  if (typeof value === "string") {
    if (value.length <= limit) return value;
    const body = toJson(value);
    taken.push({ path, sha256: createHash("sha256").update(body).digest("hex"), body });
    return "";
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => without(item, [...path, index], limit, taken));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, without(item, [...path, key], limit, taken)]),
  );
}

/** Puts a string back where `takeOut` left an empty one. */
export function putBack(value: unknown, path: Path, text: string): void {
  let parent = value;
  for (const key of path.slice(0, -1)) parent = childOf(parent, key);
  const last = path.at(-1);
  if (last === undefined || childOf(parent, last) !== "") {
    throw new Error(`there is no place for a large string at ${path.join(".")}`);
  }
  Object.defineProperty(parent, last, {
    value: text,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function childOf(parent: unknown, key: string | number): unknown {
  if (typeof parent !== "object" || parent === null || !Object.hasOwn(parent, key))
    return undefined;
  return Reflect.get(parent, key);
}
