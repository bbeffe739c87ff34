import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { readHost } from "../../../core/egress/host.ts";
import type { HostOffers } from "../../../core/egress/host-offers.ts";
import type { SessionCredentials } from "../../../core/ports/session-credentials.ts";
import type { KnownSecrets } from "../../sweep/known-secrets.ts";
import type { BufferAllowance } from "./buffer-allowance.ts";
import { type Headers, UnfitSecretError } from "./header-secrets.ts";
import { authoritiesOf, endToEnd, pairsOf, valuesOf, without } from "./http-headers.ts";
import { passAnswer, type Response, UnreadableAnswerError } from "./pass-answer.ts";
import { RequestSecrets, SecretUnavailableError } from "./request-secrets.ts";
import { StaleConnectionError, type Upstream, type UpstreamRequest } from "./upstream.ts";

export type Asked = IncomingMessage | Http2ServerRequest;

/** Where a client's requests go, and what may be put into them. */
export interface ExchangePlace {
  readonly credentials: SessionCredentials;
  readonly known: KnownSecrets;
  readonly buffers: BufferAllowance;
  /** As it was dialled. */
  readonly host: string;
  /** As they are at the time of a request. Rejects with `SecretUnavailableError`. */
  readonly offers: (signal: AbortSignal) => Promise<HostOffers>;
  /** Whether programs reach it by TLS. */
  readonly isSecure: boolean;
  readonly upstream: Upstream;
}

/** A request as it goes on, and who knows its answer. */
export interface Prepared {
  readonly request: UpstreamRequest;
  readonly release: () => void;
}

/** Passes on one request and its answer. Never rejects. */
export async function exchange(
  asked: Asked,
  response: Response,
  place: ExchangePlace,
): Promise<void> {
  const gone = new AbortController();
  // A server may have answered before it has read everything: then the rest still goes to it.
  let isPassed = false;
  response.once("close", () => {
    if (!isPassed) gone.abort();
  });
  let release = () => {};
  try {
    const prepared = await prepare(asked, place, gone.signal);
    release = prepared.release;
    const answer = await place.upstream.send(prepared.request, gone.signal);
    const { known } = place;
    await passAnswer(answer, response, { method: asked.method ?? "GET", known });
    isPassed = true;
  } catch (error) {
    fail(asked, response, { error, known: place.known });
    gone.abort();
    asked.resume();
  } finally {
    release();
  }
}

/** The request as it is to be sent. Rejects where a secret that it needs cannot be had, or not be put in. */
export async function prepare(
  asked: Asked,
  place: ExchangePlace,
  signal: AbortSignal,
): Promise<Prepared> {
  const { method = "GET" } = asked;
  const { path, named } = targetOf(asked.url ?? "/");
  const given = endToEnd(pairsOf(asked.rawHeaders));
  const authorities = [...named, ...authoritiesOf(asked)];
  const authority = authorities.at(-1) ?? place.host;
  // Of a request that names somebody else it is not known who reads it.
  const isForHost = authorities.length > 0 && authorities.every((name) => isAt(name, place.host));
  const offers = isForHost ? await place.offers(signal) : { variables: [], repositories: [] };
  const { credentials, host, isSecure } = place;
  const secrets = new RequestSecrets(
    { credentials, offers, host, signal },
    { method: method.toUpperCase(), path, headers: given, isSecure },
  );
  const headers = without(await secrets.headers(), "host", "accept-encoding", "content-length");
  const { body, length, release } = await bodyOf(asked, secrets, place.buffers);
  return {
    release,
    request: {
      ...{ method, path, authority },
      headers: [...headers, ["accept-encoding", "identity"], ...framing(asked, body, length)],
      body,
      trailers: () => endToEnd(pairsOf(asked.rawTrailers)),
    },
  };
}

interface Body {
  readonly body: AsyncIterable<Uint8Array> | undefined;
  /** Undefined for one that ends when it ends. */
  readonly length: number | undefined;
  readonly release: () => void;
}

async function bodyOf(
  asked: Asked,
  secrets: RequestSecrets,
  buffers: BufferAllowance,
): Promise<Body> {
  const headers = pairsOf(asked.rawHeaders);
  const [text] = valuesOf(headers, "content-length");
  const length = text === undefined ? undefined : Number(text);
  const release = () => {};
  if (!hasBody(asked, length)) return { body: undefined, length, release };
  const encoding = valuesOf(headers, "content-encoding").join().trim().toLowerCase();
  const isPlain = encoding === "" || encoding === "identity";
  const filled = isPlain ? secrets.body(asked) : undefined;
  if (filled === undefined) return { body: asked, length, release };
  if (length === undefined || !buffers.take(length)) {
    return { body: filled, length: undefined, release };
  }
  const giveBack = () => buffers.giveBack(length);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of filled) chunks.push(chunk);
    const whole = Buffer.concat(chunks);
    return { body: once(whole), length: whole.length, release: giveBack };
  } catch (error) {
    giveBack();
    throw error;
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

function hasBody(asked: Asked, length: number | undefined): boolean {
  if ("stream" in asked) return !asked.stream.endAfterHeaders;
  return asked.headers["transfer-encoding"] !== undefined || (length ?? 0) > 0;
}

/** HTTP/1.1 must be told how long a body is, also where there is none and the method lets expect one. */
function framing(asked: Asked, body: unknown, length: number | undefined): Headers {
  if (body === undefined) {
    const isExpected = length === 0 || /^(?:POST|PUT|PATCH)$/.test(asked.method ?? "");
    return isExpected ? [["content-length", "0"]] : [];
  }
  return length === undefined ? [] : [["content-length", String(length)]];
}

/** A whole URL, as programs give it to proxies, names a host too. */
function targetOf(url: string): { readonly path: string; readonly named: readonly string[] } {
  if (url.startsWith("/") || !URL.canParse(url)) return { path: url, named: [] };
  const { host, pathname, search } = new URL(url);
  return { path: `${pathname}${search}`, named: [host] };
}

function isAt(authority: string, host: string): boolean {
  const name = authority.replace(/:\d*$/, "");
  return readHost(name)?.text === host;
}

interface Failure {
  readonly error: unknown;
  readonly known: KnownSecrets;
}

/** What went wrong is told in words of ours, as long as there is time. */
function fail(asked: Asked, response: Response, { error, known }: Failure): void {
  if (response.destroyed || response.writableEnded) return;
  if (error instanceof StaleConnectionError && !("stream" in asked)) {
    // As it would have been without this between: its client knows what may be sent again.
    asked.socket.destroy();
  } else if (response.headersSent) {
    cut(response);
  } else {
    response.statusCode = 502;
    response.setHeader("content-type", "text/plain");
    response.end(`${known.mask.text(reasonOf(error))}\n`);
  }
}

function cut(response: Response): void {
  if ("stream" in response) response.stream.destroy();
  else response.destroy();
}

export function reasonOf(error: unknown): string {
  if (error instanceof SecretUnavailableError) {
    return `The request was not sent: a secret that it needs cannot be had now: ${error.message}`;
  }
  if (error instanceof UnfitSecretError) return `The request was not sent: ${error.message}`;
  if (error instanceof UnreadableAnswerError) return `There is an answer, but ${error.message}`;
  const reason = error instanceof Error ? error.message : String(error);
  return `The host could not be asked: ${reason}`;
}
