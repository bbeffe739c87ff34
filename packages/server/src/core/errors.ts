import type { ErrorType } from "@drover/api";

interface PlatformErrorOptions {
  /** Stable detail for programs, such as `environment_archived`. */
  readonly code?: string | undefined;
  readonly cause?: unknown;
  /** What the contract puts beside the message. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** A failure that the caller can act on. Anything else that is thrown is a bug. */
export abstract class PlatformError extends Error {
  abstract readonly type: ErrorType;
  readonly code: string | undefined;
  readonly fields: Readonly<Record<string, string>>;

  constructor(message: string, options: PlatformErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.fields = options.fields ?? {};
  }
}

/** The request cannot be carried out as it stands; the message names the field. */
export class InvalidRequestError extends PlatformError {
  readonly type = "invalid_request_error";
}

export class AuthenticationError extends PlatformError {
  readonly type = "authentication_error";
}

export class PermissionError extends PlatformError {
  readonly type = "permission_error";
}

export class NotFoundError extends PlatformError {
  readonly type = "not_found_error";
}

/** A conflict that a retry cannot resolve, such as a stale version. */
export class ConflictError extends PlatformError {
  readonly type = "conflict_error";
}

/** A memory's path is another one's, or above or below it. `id` is empty if that one is unknown. */
export class MemoryPathConflictError extends PlatformError {
  readonly type = "memory_path_conflict_error";

  constructor({ id, path }: { id: string; path: string }) {
    const problem = "is in the way: a path is of one memory and leads through none";
    super(`path: the memory at ${path} ${problem}`, {
      fields: { conflicting_memory_id: id, conflicting_path: path },
    });
  }
}

/** A memory is not in the state that the request takes for granted. */
export class MemoryPreconditionFailedError extends PlatformError {
  readonly type = "memory_precondition_failed_error";
}

export class RequestTooLargeError extends PlatformError {
  readonly type = "request_too_large";
}

/** Part of the contract that this version does not do yet; the message names it. */
export class NotImplementedError extends PlatformError {
  readonly type = "invalid_request_error";
}

/** The store cannot write now: nothing was stored, and the same request may succeed later. */
export class StoreUnavailableError extends PlatformError {
  readonly type = "overloaded_error";
}

/** The server does as much of this at once as it may: the same request may succeed later. */
export class OverloadedError extends PlatformError {
  readonly type = "overloaded_error";
}

/** Another process holds the session: whatever was to be appended was not. Never reaches a client. */
export class LeaseLostError extends Error {
  constructor(sessionId: string, epoch: number) {
    super(`session ${sessionId} is no longer held under epoch ${epoch}`);
    this.name = "LeaseLostError";
  }
}

/** Marks a branch that the types rule out. Reaching it is a bug, so it throws a plain `Error`. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
