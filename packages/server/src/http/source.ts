import { Readable } from "node:stream";
import type { AppContext } from "./context.ts";

/** Node's own request where there is one: a web stream around it costs time and memory. */
export function sourceOf(c: AppContext): Readable {
  const incoming = c.env?.incoming;
  if (incoming !== undefined) return incoming;
  const { body } = c.req.raw;
  return body === null ? Readable.from([]) : Readable.fromWeb(body);
}

/**
 * The body as it comes. What its reader leaves is read on to its end and forgotten: cut off, the sender
 * would not learn why. The listener cuts off who goes on for long.
 */
export async function* chunksOf(c: AppContext): AsyncGenerator<Uint8Array> {
  const source = sourceOf(c);
  try {
    yield* source.iterator({ destroyOnReturn: false });
  } finally {
    source.resume();
  }
}
