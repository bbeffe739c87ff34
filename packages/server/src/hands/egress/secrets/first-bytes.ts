import type { Socket } from "node:net";
import { RECORD_HEAD_BYTES, serverNameOf } from "./client-hello.ts";

/** What is spoken over a connection, as far as it matters here. */
export type Spoken =
  | {
      readonly type: "tls";
      /** Whom the client says to speak to, if it says so. */
      readonly serverName: string | undefined;
    }
  | { readonly type: "http" }
  | { readonly type: "other" };

const HTTP: Spoken = { type: "http" };
const OTHER: Spoken = { type: "other" };

const HANDSHAKE = 0x16;
const TLS_MAJOR = 3;
/** A method, and with what the target of a request begins; HTTP/2 without TLS is another protocol. */
const REQUEST_LINE = /^(?!PRI )[A-Z][A-Z-]{1,23} [/*h]/;
const BEGUN_LINE = /^(?!PRI)[A-Z][A-Z-]{0,23} ?$/;

/** Pure: what the first bytes of a client say; undefined as long as they may still say anything. */
export function spokenBy(first: Uint8Array): Spoken | undefined {
  if (first.length === 0) return undefined;
  if (first[0] === HANDSHAKE) return tlsBy(first);
  const text = Buffer.from(first.subarray(0, 32)).toString("latin1");
  if (REQUEST_LINE.test(text)) return HTTP;
  return BEGUN_LINE.test(text) ? undefined : OTHER;
}

/** A whole record is waited for: of a greeting in several it is not known whom it names. */
function tlsBy(first: Uint8Array): Spoken | undefined {
  if (first.length > 1 && first[1] !== TLS_MAJOR) return OTHER;
  const [, , , high = 0, low = 0] = first;
  const isWhole = first.length >= RECORD_HEAD_BYTES + high * 256 + low;
  if (first.length < RECORD_HEAD_BYTES || !isWhole) return undefined;
  return { type: "tls", serverName: serverNameOf(first) };
}

/**
 * Waits for whoever speaks first. Nothing is taken from either side: what was read is put back. A side that ends
 * without a word speaks something else.
 */
export async function firstSpoken(client: Socket, upstream: Socket): Promise<Spoken> {
  const outcome = Promise.withResolvers<Spoken>();
  let first: Buffer = Buffer.alloc(0);
  const decide = (spoken: Spoken) => {
    // At once: with these listeners, putting back would be told as something new.
    client.off("readable", onClient);
    upstream.off("readable", onOther);
    for (const socket of [client, upstream]) socket.off("close", onOther);
    if (first.length > 0 && !client.readableEnded) client.unshift(first);
    outcome.resolve(spoken);
  };
  const onClient = () => {
    // Its end, which is not taken either.
    if (client.readableLength === 0) return decide(OTHER);
    const read: unknown = client.read();
    if (!(read instanceof Uint8Array)) return;
    first = Buffer.concat([first, read]);
    const spoken = spokenBy(first);
    if (spoken !== undefined) decide(spoken);
  };
  const onOther = () => decide(OTHER);
  client.on("readable", onClient);
  upstream.on("readable", onOther);
  for (const socket of [client, upstream]) socket.once("close", onOther);
  return await outcome.promise;
}
