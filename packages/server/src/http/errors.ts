import { type ErrorBody, type ErrorType, methodsAt } from "@drover/api";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { NotImplementedError, PlatformError, StoreUnavailableError } from "../core/errors.ts";
import type { AppContext, HttpLog } from "./context.ts";

const STATUS: Readonly<Record<ErrorType, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  api_error: 500,
  overloaded_error: 529,
  memory_precondition_failed_error: 409,
  memory_path_conflict_error: 409,
  conflict_error: 409,
};

/** The official client asks again on 409 and 501 although the answer cannot change. */
const NEVER_RETRY: ReadonlySet<number> = new Set([409, 501]);

/** Characters: what a client sends, such as an id, is not sent back at any length. */
const MESSAGE_MAX = 2_000;
const PATH_SHOWN_MAX = 200;

/** The one place where an error becomes a response. A bug says nothing of itself to the caller. */
export function respondWithError(log: HttpLog): (error: unknown, c: AppContext) => Response {
  return (error, c) => {
    if (error instanceof PlatformError) return errorResponse(c, statusOf(error), bodyOf(error, c));
    if (error instanceof HTTPException) {
      return errorResponse(c, error.status, envelope(c, "invalid_request_error", error.message));
    }
    log.error(
      { err: error, request_id: c.get("requestId"), method: c.req.method, path: c.req.path },
      "a request failed in a way that it should not have",
    );
    return errorResponse(c, 500, envelope(c, "api_error", "Internal server error"));
  };
}

/** For what no route takes: an unknown path, or a known one with another method. */
export function respondUnrouted(c: AppContext): Response {
  const methods = methodsAt(c.req.path);
  if (methods.length === 0) return respondNotFound(c);
  c.header("allow", methods.join(", "));
  const message = `${c.req.method} is not a method of ${shortened(c.req.path, PATH_SHOWN_MAX)}: use ${methods.join(", ")}`;
  return errorResponse(c, 405, envelope(c, "invalid_request_error", message));
}

export function respondNotFound(c: AppContext): Response {
  const message = `there is no ${c.req.method} ${shortened(c.req.path, PATH_SHOWN_MAX)} here`;
  return errorResponse(c, 404, envelope(c, "not_found_error", message));
}

function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/** The body that stands for an error on a stream whose status is already sent. */
export function streamErrorBody(requestId: string): ErrorBody {
  return {
    type: "error",
    request_id: requestId,
    error: { type: "api_error", message: "Internal server error" },
  };
}

function statusOf(error: PlatformError): number {
  if (error instanceof NotImplementedError) return 501;
  if (error instanceof StoreUnavailableError) return 503;
  return STATUS[error.type];
}

function bodyOf(error: PlatformError, c: AppContext): ErrorBody {
  const body = envelope(c, error.type, error.message);
  const details = error.code === undefined ? {} : { details: { error_code: error.code } };
  return { ...body, error: { ...body.error, ...error.fields, ...details } };
}

function envelope(c: AppContext, type: ErrorType, message: string): ErrorBody {
  const error = { type, message: shortened(message, MESSAGE_MAX) };
  return { type: "error", request_id: c.get("requestId") ?? null, error };
}

function errorResponse(c: AppContext, status: number, body: ErrorBody): Response {
  if (NEVER_RETRY.has(status)) c.header("x-should-retry", "false");
  if (status === 503) c.header("retry-after", "1");
  return c.json(body, status as ContentfulStatusCode);
}
