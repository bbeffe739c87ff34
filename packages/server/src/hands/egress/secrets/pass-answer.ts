import { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import zlib from "node:zlib";
import type { KnownSecrets } from "../../sweep/known-secrets.ts";
import { SweepStream } from "../../sweep/sweep-stream.ts";
import type { Headers } from "./header-secrets.ts";
import { endToEnd, http2Headers, valuesOf, without } from "./http-headers.ts";
import type { UpstreamAnswer } from "./upstream.ts";

export type Response = ServerResponse | Http2ServerResponse;

/** An answer that cannot be read, so that nothing can be looked for in it. */
export class UnreadableAnswerError extends Error {
  constructor(encoding: string) {
    super(
      `the server answered in the encoding ${JSON.stringify(encoding.slice(0, 40))}, which it was not asked for and which cannot be looked through`,
    );
    this.name = "UnreadableAnswerError";
  }
}

const BODILESS = new Set([204, 205, 304]);

interface Passing {
  readonly method: string;
  readonly known: KnownSecrets;
}

/**
 * Gives an answer to the program inside, with every known secret masked. Rejects with `UnreadableAnswerError` while
 * there is still time to say so, and with others once the answer is cut.
 */
export async function passAnswer(
  answer: UpstreamAnswer,
  response: Response,
  { method, known }: Passing,
): Promise<void> {
  const { status, body } = answer;
  const isBodiless = method === "HEAD" || BODILESS.has(status);
  const decoder = isBodiless ? undefined : decoderOf(answer.headers);
  const headers = endToEnd(answer.headers);
  const plain =
    decoder === undefined ? headers : without(headers, "content-encoding", "content-length");
  writeHead(response, status, masked(plain, known));
  const sweep = new SweepStream(known);
  if (decoder === undefined) await pipeline(body, sweep, response, { end: false });
  else await pipeline(body, decoder, sweep, response, { end: false });
  const trailers = masked(endToEnd(answer.trailers()), known);
  if (trailers.length > 0) addTrailers(response, trailers);
  response.end();
}

export function masked(headers: Headers, known: KnownSecrets): Headers {
  const { mask } = known;
  if (mask.isEmpty) return headers;
  return headers.map(([name, value]) => {
    const bytes = Buffer.from(value, "latin1");
    return [name, mask.bytes(bytes).toString("latin1")] as const;
  });
}

/** Undefined for an answer that is written as it is. */
function decoderOf(headers: Headers): Transform | undefined {
  const transfer = valuesOf(headers, "transfer-encoding").join(",").toLowerCase();
  if (!/^\s*(?:chunked|identity)?\s*$/.test(transfer)) throw new UnreadableAnswerError(transfer);
  const encoding = valuesOf(headers, "content-encoding").join(",").trim().toLowerCase();
  switch (encoding) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
    case "deflate":
      return zlib.createUnzip();
    case "br":
      return zlib.createBrotliDecompress();
    default:
      throw new UnreadableAnswerError(encoding);
  }
}

function writeHead(response: Response, status: number, headers: Headers): void {
  response.sendDate = false;
  // Without the words of its status line, which are a server's to choose.
  if (!(response instanceof ServerResponse)) {
    response.writeHead(status, http2Headers(headers));
    return;
  }
  response.writeHead(status, headers.flat());
  // The body of what ends when it ends may begin late.
  if (valuesOf(headers, "content-length").length === 0) response.flushHeaders();
}

function addTrailers(response: Response, trailers: Headers): void {
  if (response instanceof ServerResponse) {
    response.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]));
  } else {
    response.addTrailers(http2Headers(trailers));
  }
}
