import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { eventsOf, messageOf, type Reply, type StreamEvent } from "./respond.ts";
import type { Fault, JsonObject, Pacing } from "./types.ts";

const FLOOD_BYTES = 64 * 1024;
const READ_FIRST_MS = 20;

export interface Delivery {
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Aborted when the client hangs up or the server closes; ends every wait. */
  readonly signal: AbortSignal;
}

/** Answers as a stream, with the pacing and the fault that the answer asks for. */
export async function stream(
  reply: Reply,
  options: { pacing?: Pacing | undefined; fault?: Fault | undefined },
  delivery: Delivery,
): Promise<void> {
  const { response, requestId, signal } = delivery;
  const { pacing, fault } = options;
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "request-id": requestId,
  });
  response.flushHeaders();
  await wait(pacing?.firstMs, signal);
  const goesWrongAt = fault !== undefined && "afterEvents" in fault ? fault.afterEvents : undefined;
  let count = 0;
  for (const event of eventsOf(reply)) {
    if (count === goesWrongAt) break;
    if (event.type === "content_block_delta") await wait(pacing?.delayMs, signal);
    await write(response, frame(event), signal);
    count += 1;
  }
  if (fault !== undefined && goesWrongAt !== undefined) await goWrong(fault, delivery);
  if (!response.destroyed) response.end();
}

/** Answers with one JSON body; also errors. */
export function json(
  response: ServerResponse,
  status: number,
  body: JsonObject | Reply | string,
  headers: Readonly<Record<string, string>>,
): void {
  const text =
    typeof body === "string"
      ? body
      : JSON.stringify("blocks" in body && "stopReason" in body ? messageOf(body as Reply) : body);
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text);
}

/** Waits without keeping anything alive that was hung up on. */
export async function wait(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms !== undefined && ms > 0) await sleep(ms, undefined, { signal });
}

/** Resolves never; rejects when the client hangs up or the server closes. */
export function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

async function goWrong(fault: Fault, delivery: Delivery): Promise<void> {
  const { response, signal } = delivery;
  switch (fault.type) {
    case "cut":
      // A client drops what it has not read yet when the connection breaks, so let it read first.
      await wait(READ_FIRST_MS, signal);
      response.destroy();
      return;
    case "stall":
      return silence(signal);
    case "pings":
      for (;;) {
        await write(response, frame({ type: "ping", data: { type: "ping" } }), signal);
        await wait(fault.everyMs, signal);
      }
    case "error_event": {
      const error = { type: fault.error_type, message: fault.message ?? fault.error_type };
      const data = { type: "error", error, request_id: delivery.requestId };
      return write(response, frame({ type: "error", data }), signal);
    }
    case "garbage":
      return write(response, "event: content_block_delta\ndata: {not json\n\n", signal);
    case "flood":
      await write(response, "event: content_block_delta\ndata: ", signal);
      for (;;) await write(response, "x".repeat(FLOOD_BYTES), signal);
    default:
      return;
  }
}

function frame({ type, data }: StreamEvent): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Waits for the reader, so that a slow one is not buffered for without end. */
export async function write(
  response: ServerResponse,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (response.write(text)) return;
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    response.once("drain", () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
