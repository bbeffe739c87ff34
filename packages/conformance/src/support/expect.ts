import assert from "node:assert/strict";
import { APIError } from "@anthropic-ai/sdk";
import type { WireAnswer } from "../target.ts";

export interface Refusal {
  readonly status: number;
  /** `error.type`. */
  readonly type?: string;
  /** `error.details.error_code`. */
  readonly code?: string;
  /** What the message has to name, usually the field. */
  readonly says?: RegExp;
}

/** Expects a call of the official client to be refused; gives its error for more questions. */
export async function refused(call: PromiseLike<unknown>, expected: Refusal): Promise<APIError> {
  const outcome = await Promise.allSettled([call]);
  const [settled] = outcome;
  if (settled?.status !== "rejected") {
    assert.fail(`accepted, where ${expected.status} was expected: ${shown(settled?.value)}`);
  }
  const error: unknown = settled.reason;
  if (!(error instanceof APIError)) throw error;
  const { status, type, errorCode, message } = error;
  assertRefusal({ status: status ?? 0, type, code: errorCode, message }, expected);
  return error;
}

/** Expects a raw answer to be an error envelope of this kind. */
export function assertRefused(answer: WireAnswer, expected: Refusal): void {
  assert.equal(answer.body?.type, "error", `no error envelope: ${answer.status} ${answer.text}`);
  const { type, message, details } = answer.body.error;
  assertRefusal({ status: answer.status, type, code: details?.error_code, message }, expected);
}

/** Expects a raw answer of 200; gives its body. */
export function accepted(answer: WireAnswer): WireAnswer["body"] {
  assert.equal(answer.status, 200, `expected 200: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** Expects `actual` to have what `expected` has; anything more is left open. */
export function assertHas(actual: unknown, expected: object): void {
  assert.partialDeepStrictEqual(
    actual as object,
    expected,
    `${shown(actual)} lacks ${shown(expected)}`,
  );
}

/** RFC 3339. */
export function assertTime(value: unknown): asserts value is string {
  assert.match(String(value), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
}

/** Everything of a paged list. */
export async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of pages) items.push(item);
  return items;
}

function assertRefusal(
  actual: { status: number; type: unknown; code: unknown; message: string },
  expected: Refusal,
): void {
  const said = `${actual.status} ${actual.message}`;
  assert.equal(actual.status, expected.status, said);
  if (expected.type !== undefined) assert.equal(actual.type, expected.type, said);
  if (expected.code !== undefined) assert.equal(actual.code, expected.code, said);
  if (expected.says !== undefined) assert.match(actual.message, expected.says);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 2_000);
}
