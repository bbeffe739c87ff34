import { posix } from "node:path";
import type { z } from "zod";
import { type Sandbox, SandboxFileError } from "../../core/ports/sandbox.ts";
import { limitSentence } from "../../core/sandboxes/limits.ts";

/** What a tool works with. */
export interface ToolContext {
  readonly sandbox: Sandbox;
  /** Hears output while the tool runs. */
  readonly onOutput: (chunk: Uint8Array) => void;
  readonly signal: AbortSignal;
}

/** A tool's result: text for the model. */
export interface ToolText {
  readonly text: string;
  readonly isError: boolean;
}

export type Tool = (input: unknown, context: ToolContext) => Promise<ToolText>;

/** The tool cannot do what was asked. The message is for the model. */
export class ToolError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "ToolError";
  }
}

export function success(text: string): ToolText {
  return { text, isError: false };
}

/** The input, if it is of the shape; models make inputs, and the error tells them which field is wrong. */
export function parseInput<T>(tool: string, schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    return path.length === 0 ? message : `${path.join(".")}: ${message}`;
  });
  throw new ToolError(`${tool}: ${problems.join("; ")}`, { cause: parsed.error });
}

const WORKSPACE = "/workspace";

/** The absolute path inside the sandbox. */
export function resolvePath(path: string | null | undefined): string {
  return posix.resolve(WORKSPACE, path ?? "");
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "is a directory",
  EACCES: "permission denied",
  EROFS: "is read-only",
  ENOSPC: "no space left",
  EFBIG: "the file is too large",
  ENAMETOOLONG: "the path is too long",
  ELOOP: "too many symbolic links",
};

/** Gives what the sandbox refuses as an error for the model, which says what was to be done to what. */
export async function refusalsOf<T>(tool: string, path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof SandboxFileError)) throw cause;
    const reason = REASONS[cause.code];
    const message = reason === undefined ? cause.message : `${path}: ${reason}`;
    const said = [message, ...cause.limits.map(limitSentence)].join("; ");
    throw new ToolError(`${tool}: ${said}`, { cause });
  }
}
