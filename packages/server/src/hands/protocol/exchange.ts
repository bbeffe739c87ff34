import type { IncomingMessage, ServerResponse } from "node:http";
import { REQUEST_BYTES_MAX, type Refusal } from "./messages.ts";

/** What is answered to one request. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

/** Waits for one who asks; the signal is aborted when they are gone. */
export async function whileThere<T>(
  { socket }: IncomingMessage,
  wait: (gone: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  socket.once("close", onClose);
  try {
    return await wait(gone.signal);
  } finally {
    socket.off("close", onClose);
  }
}

export class ProtocolError extends Error {
  readonly answer: Answer;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.answer = refuse(status, reason, message);
  }
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.byteLength;
    if (bytes > REQUEST_BYTES_MAX) {
      throw new ProtocolError(413, "too_large", `a request has at most ${REQUEST_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new ProtocolError(400, "invalid", "the body is not JSON");
  }
}

export function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.destroyed) return;
  if (body === undefined) {
    response.writeHead(status).end();
    return;
  }
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}

export function ok(body: unknown): Answer {
  return { status: 200, body };
}

export function refuse(status: number, reason: string, message: string): Answer {
  return { status, body: { reason, message } satisfies Refusal };
}

export function unknownCall(callId: string): Answer {
  return refuse(404, "unknown_call", `call ${callId} is not known here`);
}

export function numberOf(url: URL, name: string): number {
  const value = Number(url.searchParams.get(name) ?? 0);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new ProtocolError(400, "invalid", `${name} is to be a whole number`);
}

export function decodeId(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new ProtocolError(400, "invalid", "the path is not well-formed");
  }
}
