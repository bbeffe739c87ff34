import { APIConnectionError, APIError } from "@anthropic-ai/sdk";
import type { ModelFailureKind, ModelOutcome } from "../core/ports/model.ts";
import { scrubber } from "../lib/scrub.ts";
import { tooLongPrompt } from "./context-exceeded.ts";
import { StreamError } from "./response-builder.ts";

type Failure = Extract<ModelOutcome, { type: "failure" }>;

const MAX_MESSAGE_CHARS = 2_000;
/** What is longer is told as this; how long is really waited is for the loop to say. */
const MAX_RETRY_AFTER_MS = 366 * 24 * 60 * 60 * 1_000;

interface Meaning {
  readonly kind: ModelFailureKind;
  readonly retryable: boolean;
}

const REFUSED: Meaning = { kind: "request_failed", retryable: false };
/** The prompt has to become another one first. */
export const TOO_LONG: Meaning = { kind: "prompt_too_long", retryable: false };
const BROKEN: Meaning = { kind: "request_failed", retryable: true };
const OVERLOADED: Meaning = { kind: "overloaded", retryable: true };
const RATE_LIMITED: Meaning = { kind: "rate_limited", retryable: true };
const BILLING: Meaning = { kind: "billing", retryable: false };
const CONNECTION: Meaning = { kind: "connection", retryable: true };

/** By the API's error types, which also come in the middle of a stream that began with 200. */
const BY_TYPE: Readonly<Record<string, Meaning>> = {
  overloaded_error: OVERLOADED,
  rate_limit_error: RATE_LIMITED,
  billing_error: BILLING,
  api_error: BROKEN,
  timeout_error: BROKEN,
  conflict_error: BROKEN,
};

/** Of a request that is wrong in itself, or too large. */
const INVALID_STATUSES = [400, 413, 415, 422];

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  402: BILLING,
  408: BROKEN,
  409: BROKEN,
  429: RATE_LIMITED,
  503: OVERLOADED,
  529: OVERLOADED,
};

export interface FailureContext {
  /** Takes credentials out of every message: see `messageScrubber`. */
  readonly scrub: (message: string) => string;
  /** Named where the API cannot be reached. */
  readonly origin: string;
}

/** For messages of an API that is sent these secrets: the key and what else proves who asks. */
export function messageScrubber(secrets: readonly string[]): FailureContext["scrub"] {
  return scrubber(secrets, { lengthMax: MAX_MESSAGE_CHARS });
}

/** What an exception of the SDK, of `fetch` or of the stream means to the loop. */
export function failureOf(error: unknown, context: FailureContext): Failure {
  if (error instanceof StreamError) return failure(CONNECTION, error.message, context);
  if (error instanceof APIConnectionError)
    return failure(CONNECTION, unreachable(error, context), context);
  if (error instanceof APIError) return apiFailure(error, context);
  if (error instanceof SyntaxError) {
    return failure(CONNECTION, "The model's response has an event that is not JSON.", context);
  }
  return failure(CONNECTION, `The model's response broke off: ${causes(error)}.`, context);
}

function apiFailure(error: APIError, context: FailureContext): Failure {
  const status: number | undefined = error.status;
  const meaning = meaningOf(error, status);
  const said = error.apiMessage ?? textOf(error.error) ?? withoutStatus(error.message);
  const message =
    status === undefined
      ? `The model API ended its response with an error: ${said}`
      : `The model API answered ${status}: ${said}`;
  const tooLong = tooLongPrompt(status, said);
  if (tooLong !== undefined) return { ...failure(TOO_LONG, message, context), ...tooLong };
  const retryAfterMs = retryAfter(error.headers);
  return {
    ...failure(meaning, message, context),
    ...(isInvalid(meaning, status) && { invalidRequest: true }),
    ...(meaning.retryable && retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** True if it is the request that is wrong, and not who asks, for what, or when. */
export function isInvalid({ kind, retryable }: Meaning, status: number | undefined): boolean {
  return kind === "request_failed" && !retryable && INVALID_STATUSES.includes(status ?? 0);
}

function meaningOf(error: APIError, status: number | undefined): Meaning {
  // A spend limit is answered as 400 or 429; only the code tells it apart.
  if (error.errorCode?.endsWith("spend_limit_reached") === true) return BILLING;
  const byType = BY_TYPE[error.type ?? ""];
  if (status === undefined) return byType ?? BROKEN;
  const meaning = BY_STATUS[status] ?? (status >= 500 ? (byType ?? BROKEN) : REFUSED);
  const told = error.headers?.get("x-should-retry");
  if (told === "true") return { ...meaning, retryable: true };
  return told === "false" ? { ...meaning, retryable: false } : meaning;
}

function failure({ kind, retryable }: Meaning, message: string, context: FailureContext): Failure {
  return { type: "failure", kind, retryable, message: context.scrub(message) };
}

function unreachable(error: APIConnectionError, { origin }: FailureContext): string {
  return `The model API at ${origin} could not be reached or closed the connection: ${causes(error)}.`;
}

/** The codes and messages of an error and what caused it, innermost last. */
export function causes(error: unknown): string {
  const found: string[] = [];
  for (let at: unknown = error; at instanceof Error && found.length < 4; at = at.cause) {
    const code = "code" in at && typeof at.code === "string" ? at.code : undefined;
    found.push(
      code === undefined || at.message.includes(code) ? at.message : `${at.message} (${code})`,
    );
  }
  return found.join(": ").replace(/\.$/, "") || "unknown reason";
}

/** The client puts the status before an answer that is no JSON. */
function withoutStatus(message: string): string {
  return message.replace(/^\d{3} /, "");
}

function textOf(body: unknown): string | undefined {
  return typeof body === "string" && body !== "" ? body : undefined;
}

/** Milliseconds; both headers that the API's own clients know. */
export function retryAfter(headers: Headers | undefined): number | undefined {
  const millis = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (Number.isFinite(millis)) return bounded(millis);
  const header = headers?.get("retry-after");
  if (header == null) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return bounded(seconds * 1_000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : bounded(date - Date.now());
}

function bounded(ms: number): number {
  return Math.round(Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS));
}
