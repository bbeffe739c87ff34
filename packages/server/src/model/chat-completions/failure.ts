import { APIConnectionError, APIError } from "openai";
import type { ModelFailureKind, ModelOutcome } from "../../core/ports/model.ts";
import { isRecord } from "../../lib/is-record.ts";
import { tooLongPrompt } from "../context-exceeded.ts";
import { causes, type FailureContext, isInvalid, retryAfter, TOO_LONG } from "../model-failure.ts";
import { StreamError } from "../response-builder.ts";

type Failure = Extract<ModelOutcome, { type: "failure" }>;

interface Meaning {
  readonly kind: ModelFailureKind;
  readonly retryable: boolean;
}

const REFUSED: Meaning = { kind: "request_failed", retryable: false };
const BROKEN: Meaning = { kind: "request_failed", retryable: true };
const OVERLOADED: Meaning = { kind: "overloaded", retryable: true };
const RATE_LIMITED: Meaning = { kind: "rate_limited", retryable: true };
const BILLING: Meaning = { kind: "billing", retryable: false };
const CONNECTION: Meaning = { kind: "connection", retryable: true };

/** Told with a status that means something else, such as 500: asking again is no use. */
const CANNOT =
  /\b(image|vision|audio|file|tool)s?\b.{0,60}\bnot supported\b|does not support (tools|images|vision)/i;

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  402: BILLING,
  408: BROKEN,
  409: BROKEN,
  425: BROKEN,
  429: RATE_LIMITED,
  503: OVERLOADED,
  529: OVERLOADED,
};

/** Told by code rather than by status, also in the middle of a stream that began with 200. */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  insufficient_quota: BILLING,
  billing_hard_limit_reached: BILLING,
  rate_limit_exceeded: RATE_LIMITED,
  server_overloaded: OVERLOADED,
  overloaded_error: OVERLOADED,
};

/** What an exception of the client, of `fetch` or of the stream means to the loop. */
export function chatFailure(
  error: unknown,
  context: FailureContext,
  /** The body of an answer that was an error, which the client keeps only a part of. */
  errorBody: string | undefined,
): Failure {
  if (error instanceof StreamError) return failure(CONNECTION, error.message, context);
  if (error instanceof APIConnectionError) {
    const message = `The model API at ${context.origin} could not be reached or closed the connection: ${causes(error)}.`;
    return failure(CONNECTION, message, context);
  }
  if (error instanceof APIError) return apiFailure(error, context, errorBody);
  if (error instanceof SyntaxError) {
    return failure(CONNECTION, "The model's response has an event that is not JSON.", context);
  }
  return failure(CONNECTION, `The model's response broke off: ${causes(error)}.`, context);
}

function apiFailure(
  error: APIError,
  context: FailureContext,
  errorBody: string | undefined,
): Failure {
  const status: number | undefined = error.status;
  const said = messageOf(error.error) ?? messageIn(errorBody) ?? error.message;
  const code = codeOf(error.error);
  const tooLong =
    tooLongPrompt(status, said) ?? (code === "context_length_exceeded" ? {} : undefined);
  const told = status ?? statusIn(code);
  const cannot = CANNOT.test(said);
  const meant = cannot ? REFUSED : meaningOf(told, code);
  const meaning = tooLong === undefined ? meant : TOO_LONG;
  const message =
    status === undefined
      ? `The model API ended its response with an error: ${said}`
      : `The model API answered ${status}: ${said}`;
  const retryAfterMs = retryAfter(error.headers ?? undefined);
  return {
    ...failure(meaning, message, context),
    ...tooLong,
    ...(meaning === REFUSED && (cannot || isInvalid(meaning, told)) && { invalidRequest: true }),
    ...(meaning.retryable && retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function meaningOf(status: number | undefined, code: string): Meaning {
  const byCode = BY_CODE[code];
  if (byCode !== undefined) return byCode;
  if (status === undefined) return BROKEN;
  return BY_STATUS[status] ?? (status >= 500 ? BROKEN : REFUSED);
}

/** `code` or `type` of an error: a word, or a status that was too late to be one. */
function codeOf(error: unknown): string {
  if (!isRecord(error)) return "";
  const { code, type } = error;
  return [code, type].filter((it) => it !== null && it !== undefined).map(String)[0] ?? "";
}

function statusIn(code: string): number | undefined {
  return /^[45]\d\d$/.test(code) ? Number(code) : undefined;
}

/** Of an error as a record, a string, or with the words of the provider behind it. */
function messageOf(error: unknown): string | undefined {
  if (typeof error === "string") return error === "" ? undefined : error;
  if (!isRecord(error)) return undefined;
  const { message, metadata } = error;
  const raw = isRecord(metadata) && typeof metadata["raw"] === "string" ? metadata["raw"] : "";
  if (typeof message !== "string" || message === "") return raw === "" ? undefined : raw;
  return raw === "" || message.includes(raw) ? message : `${message}: ${raw}`;
}

/** Some put their words elsewhere: `{"message": …}`, `{"detail": …}`, or no JSON at all. */
function messageIn(body: string | undefined): string | undefined {
  if (body === undefined || body.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(body);
    if (!isRecord(value)) return body;
    const { detail } = value;
    return messageOf(value) ?? (typeof detail === "string" ? detail : body);
  } catch {
    // Told as it came.
    return body;
  }
}

function failure({ kind, retryable }: Meaning, message: string, context: FailureContext): Failure {
  return { type: "failure", kind, retryable, message: context.scrub(message) };
}
