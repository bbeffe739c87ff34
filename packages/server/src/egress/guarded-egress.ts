import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { pipeline, type Transform } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import type { Egress, EgressOutcome, EgressRequest } from "../core/ports/egress.ts";
import { parseIp } from "../lib/ip-address.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";
import type { EgressPolicy } from "./egress-policy.ts";
import type { ResolvedAddress, ResolveName } from "./name-resolver.ts";

export interface GuardedEgressOptions {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveName;
  /** The certificates to trust instead of those that the system does, as PEM. */
  readonly certificates?: string;
}

const HEADER_LENGTH_MAX = 8_192;
const PACKINGS = "gzip, deflate, br";

/** See `Egress`. Each request has a connection of its own, which nothing else is sent over. */
export class GuardedEgress implements Egress {
  readonly #policy: EgressPolicy;
  readonly #resolve: ResolveName;
  readonly #certificates: string | undefined;

  constructor({ policy, resolve, certificates }: GuardedEgressOptions) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#certificates = certificates;
  }

  async send(request: EgressRequest): Promise<EgressOutcome> {
    const signal = AbortSignal.any([
      AbortSignal.timeout(request.timeoutMs),
      ...(request.signal === undefined ? [] : [request.signal]),
    ]);
    try {
      const url = new URL(request.url);
      if (url.protocol !== "https:" && url.protocol !== "http:") {
        return refused(`${url.protocol} is neither http nor https`);
      }
      const host = url.hostname.replace(/^\[|\]$/g, "");
      const found = await unlessAborted(this.#addressesOf(host), signal, () => timedOut(request));
      const permitted = this.#permitted(host, found, url.protocol, request);
      if (typeof permitted === "string") return refused(permitted);
      return await this.#exchange(url, permitted, request, signal);
    } catch (error) {
      return { type: "failed", message: messageOf(error) };
    }
  }

  async #addressesOf(host: string): Promise<readonly ResolvedAddress[]> {
    const ip = parseIp(host);
    return ip === undefined ? await this.#resolve(host) : [{ address: host, family: ip.family }];
  }

  /** A sentence instead, if there is nothing that may be dialled. */
  #permitted(
    host: string,
    found: readonly ResolvedAddress[],
    protocol: string,
    { isPlainAllowed = false }: EgressRequest,
  ): readonly ResolvedAddress[] | string {
    const judged = found.map((one) => ({ one, verdict: this.#policy.verdict(host, one.address) }));
    const allowed = judged.filter(({ verdict }) => verdict !== "refused");
    if (allowed.length === 0) {
      return `${host} is at no address that may be dialled; DROVER_EGRESS_ALLOW names exceptions`;
    }
    const isAnyUsable = protocol === "https:" || isPlainAllowed;
    const usable = allowed.filter(({ verdict }) => isAnyUsable || verdict === "named");
    if (usable.length === 0) {
      return `${host} is asked without TLS, which is for what DROVER_EGRESS_ALLOW names alone`;
    }
    return usable.map(({ one }) => one);
  }

  async #exchange(
    url: URL,
    addresses: readonly ResolvedAddress[],
    request: EgressRequest,
    signal: AbortSignal,
  ): Promise<EgressOutcome> {
    const { method, body } = request;
    const options = {
      method,
      headers: {
        ...request.headers,
        "accept-encoding": request.isPackedAllowed === true ? PACKINGS : "identity",
        ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
      },
      // No pool: a connection is for the address that was looked at, once.
      agent: false,
      lookup: pinned(addresses),
      signal,
    } as const;
    const sent =
      url.protocol === "https:"
        ? requestHttps(url, {
            ...options,
            rejectUnauthorized: true,
            ...(this.#certificates !== undefined && { ca: this.#certificates }),
          })
        : requestHttp(url, options);
    try {
      const response = await responseTo(sent, body);
      return await readAnswer(response, request);
    } catch (error) {
      throw signal.aborted ? timedOut(request) : error;
    } finally {
      sent.destroy();
    }
  }
}

/** The system's resolver is not asked again: what it says by now may be something else. */
function pinned(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (first !== undefined) callback(null, first.address, first.family);
    else callback(new Error("there is no address"), "", 0);
  };
}

function responseTo(sent: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once("response", resolve);
    // Also errors that come when nobody waits any more, which would end the process.
    sent.on("error", reject);
    sent.end(body);
  });
}

/** What came before it was cut off is an answer: its status is known. */
async function readAnswer(
  response: IncomingMessage,
  request: EgressRequest,
): Promise<EgressOutcome> {
  const headers = headersOf(response);
  const packing = (headers["content-encoding"] ?? "").trim().toLowerCase();
  const isPacked = packing !== "" && packing !== "identity";
  const unpack = request.isPackedAllowed === true ? unpacker(packing) : undefined;
  // What is packed in spite of what was asked for is not unpacked.
  const isReadable = !isPacked || unpack !== undefined;
  const { body, isTruncated } = isReadable
    ? await readBody(response, unpack, request)
    : { body: new Uint8Array(), isTruncated: true };
  return { type: "response", status: response.statusCode ?? 0, headers, body, isTruncated };
}

async function readBody(
  response: IncomingMessage,
  unpack: Transform | undefined,
  { bytesMax, isEnough }: EgressRequest,
): Promise<{ body: Uint8Array; isTruncated: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let isTruncated = false;
  try {
    // Read as it is unpacked, a chunk at a time: a bomb is put down once it is larger than wanted.
    const content: AsyncIterable<Buffer> =
      unpack === undefined ? response : pipeline(response, unpack, () => undefined);
    for await (const chunk of content) {
      chunks.push(chunk.subarray(0, bytesMax - size));
      size += chunk.byteLength;
      if (isEnough?.(chunk) === true) break;
      if (size > bytesMax) {
        isTruncated = true;
        break;
      }
    }
  } catch {
    isTruncated = true;
  }
  return { body: Buffer.concat(chunks), isTruncated };
}

function unpacker(packing: string): Transform | undefined {
  switch (packing) {
    case "gzip":
    case "x-gzip":
    case "deflate":
      return createUnzip();
    case "br":
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      (Array.isArray(value) ? value.join(", ") : (value ?? "")).slice(0, HEADER_LENGTH_MAX),
    ]),
  );
}

function refused(message: string): EgressOutcome {
  return { type: "refused", message };
}

function timedOut({ timeoutMs }: EgressRequest): Error {
  return new Error(`there was no answer within ${timeoutMs} ms`);
}

function messageOf(error: unknown): string {
  // Of several addresses that were tried; it has no words of its own.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
