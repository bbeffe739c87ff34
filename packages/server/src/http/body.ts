import { problemInJson } from "@drover/api";
import { z } from "zod";
import { InvalidRequestError, RequestTooLargeError } from "../core/errors.ts";
import type { AppContext } from "./context.ts";
import { parse } from "./parse.ts";

/** Bytes of a JSON body. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024;

export interface JsonBody<T> {
  readonly value: T;
  /** As it was received. */
  readonly bytes: Uint8Array;
}

/**
 * Reads a request's JSON as the schema's type; an empty body counts as `{}`. Bodies that are too
 * large, not UTF-8, not JSON, or not of the schema are the caller's error.
 */
export async function readJson<T>(c: AppContext, schema: z.ZodType<T>): Promise<JsonBody<T>> {
  const bytes = await readBytes(c);
  if (bytes.byteLength === 0) return { value: parse(schema, {}), bytes };
  assertJsonHeaders(c);
  const value = parseJson(decode(bytes));
  const problem = problemInJson(value);
  if (problem !== undefined) throw new InvalidRequestError(problem);
  return { value: parse(schema, value), bytes };
}

/** For requests that have no body: what is sent all the same must be an empty object. */
export async function readEmpty(c: AppContext): Promise<void> {
  await readJson(c, z.strictObject({}));
}

async function readBytes(c: AppContext): Promise<Uint8Array> {
  const declared = Number(c.req.header("content-length") ?? Number.NaN);
  if (declared > BODY_BYTES_MAX) throw tooLarge();
  // Node's parser ends the body at the declared length, so the fast path cannot grow beyond it.
  try {
    if (Number.isSafeInteger(declared)) return new Uint8Array(await c.req.arrayBuffer());
    return await readUndeclared(c.req.raw.body);
  } catch (cause) {
    if (cause instanceof RequestTooLargeError) throw cause;
    throw new InvalidRequestError("the body was cut off", { cause });
  }
}

async function readUndeclared(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    size += value.byteLength;
    if (size > BODY_BYTES_MAX) {
      void readOn(reader);
      throw tooLarge();
    }
    chunks.push(value);
  }
}

/**
 * Takes what is still under way and forgets it: with the body left in it, the connection would take
 * the client's next request without an answer. The listener cuts off who goes on for long.
 */
async function readOn(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    for (let isOver = false; !isOver; ) isOver = (await reader.read()).done;
  } catch {
    // It was cut off, and the request is answered already.
  }
}

function assertJsonHeaders(c: AppContext): void {
  const encoding = c.req.header("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw new InvalidRequestError("content-encoding: send the body without compression", {
      code: "request_body_encoding_unsupported",
    });
  }
  const contentType = c.req.header("content-type");
  if (contentType === undefined) return;
  const [mediaType = "", ...parameters] = contentType.toLowerCase().split(";");
  if (!/^application\/(?:json|[\w.-]+\+json)$/.test(mediaType.trim())) {
    throw new InvalidRequestError("content-type: the body must be application/json");
  }
  for (const parameter of parameters) {
    const charset = /^ *charset *= *"?([^"]*)"? *$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
      throw new InvalidRequestError("content-type: the charset must be utf-8", {
        code: "unsupported_charset",
      });
    }
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new InvalidRequestError("the body is not valid UTF-8", {
      code: "request_body_encoding_invalid",
      cause,
    });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError("the body is not valid JSON", { cause });
  }
}

function tooLarge(): RequestTooLargeError {
  return new RequestTooLargeError(`the body is larger than ${BODY_BYTES_MAX} bytes`);
}
