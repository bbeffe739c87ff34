import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { type Duplex, pipeline, type Readable } from "node:stream";
import { TLSSocket } from "node:tls";
import { Slots } from "../../../lib/slots.ts";
import { type ServerTls, securedUpstream } from "../secured-upstream.ts";
import type { Headers } from "./header-secrets.ts";
import { http2Headers, pairsOf, valuesOf, without } from "./http-headers.ts";

/** Bytes of the headers of one answer. */
export const HEADER_BYTES_MAX = 64 * 1024;
/** What may come before it was taken: less makes distant servers slow. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
const SESSION_WINDOW_BYTES = 4 * 1024 * 1024;

export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** As the client names the host. */
  readonly authority: string;
  /** End to end, without the host. */
  readonly headers: Headers;
  /** Absent for a request without one. */
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  /** Of the body, once it has ended. */
  readonly trailers: () => Headers;
}

export interface UpstreamAnswer {
  readonly status: number;
  /** As they came, with what is for one hop. */
  readonly headers: Headers;
  readonly body: Readable;
  /** Of the body, once it has ended. */
  readonly trailers: () => Headers;
}

export type Upgraded =
  | {
      readonly type: "switched";
      readonly headers: Headers;
      readonly socket: Duplex;
      /** What came right behind. */
      readonly head: Buffer;
    }
  | { readonly type: "answered"; readonly answer: UpstreamAnswer };

/** The server ended a connection that lay idle, at the moment in which it was used again. */
export class StaleConnectionError extends Error {
  constructor() {
    super("the server ended the connection");
    this.name = "StaleConnectionError";
  }
}

export interface UpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** Connected to it, for the first request. */
  readonly first: Socket;
  /** A further connection; rejects with the reason. */
  readonly dial: () => Promise<Socket>;
  /** Absent for a server without TLS. */
  readonly tls?: ServerTls | undefined;
  /** Connections at a time. */
  readonly connectionsMax: number;
}

/** What one client's requests to one server go over. Its connections are kept until the client's ends. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #agent: UpstreamAgent;
  /** Of requests by HTTP/1.1, each of which has a connection to itself. */
  readonly #slots: Slots;
  #first: Socket | undefined;
  #session: Promise<ClientHttp2Session | undefined> | undefined;
  #ready: Socket | undefined;
  #isClosed = false;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#first = options.first;
    this.#agent = new UpstreamAgent(() => this.#http1Socket());
    this.#slots = new Slots(options.connectionsMax);
  }

  /** Resolves with the head of the answer. Rejects where there is none; aborting gives the request up. */
  async send(asked: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const session = await this.#http2();
    signal.throwIfAborted();
    return session === undefined
      ? await this.#sendHttp1(asked, signal)
      : await sendHttp2(session, asked, { signal, scheme: this.#scheme });
  }

  /** By HTTP/1.1: asks for another protocol. */
  async upgrade(asked: UpstreamRequest, signal: AbortSignal): Promise<Upgraded> {
    const sent = this.#request(asked, signal);
    const outcome = Promise.withResolvers<Upgraded>();
    sent.once("upgrade", (received, socket, head) => {
      const headers = pairsOf(received.rawHeaders);
      outcome.resolve({ type: "switched", headers, socket, head });
    });
    sent.once("response", (received) => {
      outcome.resolve({ type: "answered", answer: answerOf(received) });
    });
    sent.on("error", outcome.reject);
    sent.end();
    return await outcome.promise;
  }

  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
    this.#first?.destroy();
    this.#ready?.destroy();
    this.#session?.then(
      (session) => session?.destroy(),
      () => undefined,
    );
  }

  get #scheme(): string {
    return this.#options.tls === undefined ? "http" : "https";
  }

  /** Undefined where the server speaks HTTP/1.1. */
  async #http2(): Promise<ClientHttp2Session | undefined> {
    const { tls } = this.#options;
    if (tls === undefined || !tls.protocols.includes("h2")) return undefined;
    const current = await this.#session;
    if (this.#session !== undefined && (current === undefined || !isOver(current))) return current;
    this.#session = this.#openSession();
    this.#session.catch(() => {
      this.#session = undefined;
    });
    return await this.#session;
  }

  async #openSession(): Promise<ClientHttp2Session | undefined> {
    const socket = await this.#connect();
    if (!(socket instanceof TLSSocket) || socket.alpnProtocol !== "h2") {
      this.#ready = socket;
      return undefined;
    }
    const session = connectHttp2(`https://${this.#options.host}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    // Told by each of its requests.
    session.on("error", () => undefined);
    session.once("connect", () => {
      if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    });
    if (this.#isClosed) session.destroy();
    return session;
  }

  async #http1Socket(): Promise<Socket> {
    const ready = this.#ready;
    this.#ready = undefined;
    return ready !== undefined && !ready.destroyed ? ready : await this.#connect();
  }

  async #connect(): Promise<Socket> {
    const first = this.#first;
    this.#first = undefined;
    const { dial, tls } = this.#options;
    const raw = first !== undefined && !first.destroyed ? first : await dial();
    const socket = tls === undefined ? raw : await securedUpstream(raw, tls);
    if (this.#isClosed) {
      socket.destroy();
      throw new Error("the client has gone");
    }
    // It may be half open, and nobody is to ask over what the server has left.
    socket.once("end", () => socket.end());
    return socket;
  }

  async #sendHttp1(asked: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const giveBack = await this.#slots.take();
    if (signal.aborted) giveBack();
    signal.throwIfAborted();
    const sent = this.#request(asked, signal);
    sent.once("close", giveBack);
    const outcome = Promise.withResolvers<UpstreamAnswer>();
    sent.once("response", (received) => {
      received.once("end", () => goOnWriting(sent));
      outcome.resolve(answerOf(received));
    });
    sent.on("error", (error) => {
      const isStale = sent.reusedSocket && "code" in error && error.code === "ECONNRESET";
      outcome.reject(isStale ? new StaleConnectionError() : error);
    });
    // Such as of one that answers by what is no status, or asks for another protocol.
    sent.once("close", () => outcome.reject(new Error("the server did not answer")));
    if (asked.body === undefined) {
      sent.end();
    } else {
      // The server may answer before there is anything of the body.
      sent.flushHeaders();
      upload(asked.body, sent, () => sent.addTrailers(asked.trailers().map(mutable)));
    }
    return await outcome.promise;
  }

  #request(asked: UpstreamRequest, signal: AbortSignal): ClientRequest {
    const { method, path, authority, body } = asked;
    const headers = withOneCookie(asked.headers);
    // Said by us, for every method: else what follows could be taken for another request.
    const isChunked = body !== undefined && valuesOf(headers, "content-length").length === 0;
    const framing: Headers = isChunked ? [["transfer-encoding", "chunked"]] : [];
    return request({
      agent: this.#agent,
      host: this.#options.host,
      method,
      path,
      headers: [["host", authority], ...headers, ...framing].flat(),
      setHost: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      signal,
    });
  }
}

/** Keeps connections that somebody else makes. */
class UpstreamAgent extends Agent {
  readonly #connect: () => Promise<Socket>;

  constructor(connect: () => Promise<Socket>) {
    super({ keepAlive: true });
    this.#connect = connect;
  }

  override createConnection(
    _options: object,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connect().then(
      (socket) => done?.(null, socket),
      // Where there is an error nobody looks at the rest.
      (error: Error) => (done as ((error: Error) => void) | undefined)?.(error),
    );
  }
}

interface Http2Sending {
  readonly signal: AbortSignal;
  readonly scheme: string;
}

async function sendHttp2(
  session: ClientHttp2Session,
  { method, path, authority, headers, body, trailers }: UpstreamRequest,
  { signal, scheme }: Http2Sending,
): Promise<UpstreamAnswer> {
  const head = {
    ...{ ":method": method, ":path": path, ":authority": authority, ":scheme": scheme },
    ...http2Headers(headers),
  };
  const stream = session.request(head, {
    endStream: body === undefined,
    waitForTrailers: body !== undefined,
  });
  const giveUp = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", giveUp, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", giveUp));
  stream.once("wantTrailers", () => stream.sendTrailers(http2Headers(trailers())));
  if (body !== undefined) upload(body, stream, () => undefined);
  return await http2Answer(stream);
}

async function http2Answer(stream: ClientHttp2Stream): Promise<UpstreamAnswer> {
  const outcome = Promise.withResolvers<UpstreamAnswer>();
  let last: Headers = [];
  stream.once("trailers", (headers: IncomingHttpHeaders) => {
    last = http2Pairs(headers);
  });
  stream.once("response", (headers) => {
    outcome.resolve({
      status: headers[":status"] ?? 0,
      headers: http2Pairs(headers),
      body: stream,
      trailers: () => last,
    });
  });
  stream.on("error", outcome.reject);
  stream.once("close", () => outcome.reject(new Error("the server did not answer")));
  return await outcome.promise;
}

function http2Pairs(headers: IncomingHttpHeaders): Headers {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (name.startsWith(":") || value === undefined) return [];
    const values = Array.isArray(value) ? value : [value];
    return values.map((one) => [name, one] as const);
  });
}

function answerOf(received: IncomingMessage): UpstreamAnswer {
  // Of an answer that nobody reads any more it would end the process.
  received.on("error", () => undefined);
  return {
    status: received.statusCode ?? 0,
    headers: pairsOf(received.rawHeaders),
    body: received,
    trailers: () => pairsOf(received.rawTrailers),
  };
}

/** A server may answer before it has read everything, so that a failure here is not yet one of the request. */
function upload(
  body: AsyncIterable<Uint8Array>,
  to: ClientRequest | ClientHttp2Stream,
  beforeEnd: () => void,
): void {
  pipeline(
    async function* () {
      yield* body;
      beforeEnd();
    },
    to,
    () => undefined,
  );
}

/** With the end of an answer Node no longer tells a request that there is room for more of its body. */
function goOnWriting(sent: ClientRequest): void {
  const { socket } = sent;
  if (sent.writableFinished || socket === null) return;
  const tell = () => void sent.emit("drain");
  socket.on("drain", tell);
  sent.once("finish", () => socket.off("drain", tell));
  tell();
}

/** HTTP/2 may send a cookie in parts, which is one header in HTTP/1.1. */
function withOneCookie(headers: Headers): Headers {
  const cookies = valuesOf(headers, "cookie");
  if (cookies.length < 2) return headers;
  return [...without(headers, "cookie"), ["cookie", cookies.join("; ")]];
}

function isOver({ closed, destroyed }: ClientHttp2Session): boolean {
  return closed || destroyed;
}

function mutable([name, value]: readonly [string, string]): [string, string] {
  return [name, value];
}
