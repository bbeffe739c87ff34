import { AsyncLocalStorage } from "node:async_hooks";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import type { Socket } from "node:net";
import type { SandboxNetwork } from "../../core/ports/hands.ts";
import type { SessionCredentials } from "../../core/ports/session-credentials.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { EgressLedger } from "../egress/egress-ledger.ts";
import { McpFailure, notSent } from "./mcp-failure.ts";
import { serverBody } from "./server-body.ts";
import { connectToServer, type WayOptions } from "./server-connection.ts";
import { renewedToken, type ServerToken, tokenFor } from "./server-token.ts";

/** What requests to a server are made with; asked anew for each. */
export interface ServerWay extends WayOptions {
  readonly serverUrl: string;
  readonly network: SandboxNetwork;
  readonly ledger: EgressLedger;
  readonly credentials: SessionCredentials | undefined;
}

/** What a request to a server is a part of. */
export interface Operation {
  /** Ends its requests. */
  readonly signal: AbortSignal;
  /** Nothing more comes as the answer to its request. */
  readonly onEnd: () => void;
}

/** The fetch function that the SDK is given. */
export type ServerFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const MIB = 1024 * 1024;
const BODY_LIMITS = { messageBytesMax: 16 * MIB, streamBytesMax: 64 * MIB };
/** For what is no part of an operation, and has an answer at once. */
const ANSWER_MS = 15_000;
/** Streams that one client opens to listen: some servers end them at once, again and again. */
const STREAMS_MAX = 30;
/** The statuses whose response has no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);
/** How the SDK writes a request that has an answer; no notification, and no answer of ours. */
const REQUEST = /^\{"method":"(?!notifications\/)/;

const ANSWER = /^\s*(?:application\/json|text\/event-stream)\b/i;

export const operations = new AsyncLocalStorage<Operation>();

/**
 * Speaks to one server for the SDK: dials only where the session may, sends the session's token and nothing that was
 * kept of it, and follows no redirect, which could lead the token elsewhere. Each request has a connection of its own.
 */
export function serverFetch(way: () => ServerWay): ServerFetch {
  let streams = 0;
  return async (url, init = {}) => {
    const isStream = init.method === "GET";
    // As a server answers that has no such stream: then it is not tried again.
    if (isStream && ++streams > STREAMS_MAX) return new Response(null, { status: 405 });
    const operation = REQUEST.test(textOf(init.body)) ? operations.getStore() : undefined;
    const signal = AbortSignal.any([
      ...(init.signal ? [init.signal] : []),
      ...(operation ? [operation.signal] : []),
    ]);
    const target = new URL(url);
    // An old server names the place that messages go to; the token is for its own alone.
    if (target.origin !== new URL(way().serverUrl).origin) {
      throw notSent(`The server leads to ${target.origin}, where nothing is sent.`);
    }
    // What is no part of an operation has to be answered soon; a stream to listen to may then stay open.
    const late = operation ? undefined : AbortSignal.timeout(ANSWER_MS);
    const asked = { url: target, init, signal, late, operation };
    return await authorized(way(), asked);
  };
}

interface Asked {
  readonly url: URL;
  readonly init: RequestInit;
  readonly signal: AbortSignal;
  readonly late: AbortSignal | undefined;
  readonly operation: Operation | undefined;
}

/** With the token that there is now, and once with another if it is refused. */
async function authorized(way: ServerWay, asked: Asked): Promise<Response> {
  const { credentials, serverUrl } = way;
  const token = credentials && (await tokenFor(credentials, serverUrl, asked.signal));
  const response = await exchange(way, asked, token);
  if (response.statusCode !== 401 && response.statusCode !== 403) {
    return responseFor(response, asked);
  }
  response.destroy();
  const other =
    response.statusCode === 401 && credentials && token
      ? await renewedToken(credentials, token, asked.signal)
      : undefined;
  const again = other && (await exchange(way, asked, other));
  if (again !== undefined && again.statusCode !== 401 && again.statusCode !== 403) {
    return responseFor(again, asked);
  }
  again?.destroy();
  throw refusedToken(again?.statusCode ?? response.statusCode ?? 0, token);
}

function refusedToken(status: number, token: ServerToken | undefined): McpFailure {
  const why =
    token === undefined
      ? "the session's vaults have no credential for it"
      : "it does not take the session's token";
  const message = `The server answered with status ${status}: ${why}.`;
  return new McpFailure("authentication", message, { isUnknown: false });
}

async function exchange(
  way: ServerWay,
  asked: Asked,
  token: ServerToken | undefined,
): Promise<IncomingMessage> {
  const { url, signal, late } = asked;
  const stop = late === undefined ? signal : AbortSignal.any([signal, late]);
  const socket = await connected(connectToServer(url, way, way), stop);
  if (token !== undefined) way.credentials?.used(token.use, 1);
  const sent = requestOn(socket, asked, token);
  const answered = Promise.withResolvers<IncomingMessage>();
  const end = () => sent.destroy(new Error("the request was ended"));
  // Also of what comes when nobody waits any more, which would end the process.
  sent.on("error", answered.reject);
  sent.once("response", answered.resolve);
  sent.once("close", () => {
    answered.reject(new Error("the connection was closed"));
    signal.removeEventListener("abort", end);
  });
  signal.addEventListener("abort", end);
  late?.addEventListener("abort", () => answered.reject(new Error("no answer in time")));
  if (stop.aborted) end();
  sent.end(textOf(asked.init.body));
  try {
    return await answered.promise;
  } catch (error) {
    sent.destroy();
    const why = error instanceof Error ? error.message : String(error);
    throw new McpFailure("connection", `The connection to the server broke off: ${why}.`, {
      isUnknown: true,
    });
  }
}

function requestOn(
  socket: Socket,
  { url, init }: Asked,
  token: ServerToken | undefined,
): ClientRequest {
  const body = textOf(init.body);
  try {
    return requestHttp({
      // Without an agent, which would make one of its own.
      createConnection: () => socket,
      method: init.method ?? "GET",
      path: `${url.pathname}${url.search}`,
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        host: url.host,
        "accept-encoding": "identity",
        ...(token !== undefined && { authorization: `Bearer ${token.secret.reveal()}` }),
        ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
      },
    });
  } catch {
    // What is wrong is said by the name of the header alone; its value may be the token.
    socket.destroy();
    throw notSent(
      "A request to the server cannot be made: a header has characters it may not have.",
    );
  }
}

async function connected(connecting: Promise<Socket>, stop: AbortSignal): Promise<Socket> {
  try {
    return await unlessAborted(connecting, stop, () =>
      notSent("The server did not answer in time."),
    );
  } catch (error) {
    // One that comes about when nobody wants it any more would stay open.
    connecting.then((socket) => socket.destroy()).catch(() => undefined);
    throw error;
  }
}

function responseFor(response: IncomingMessage, { operation }: Asked): Response {
  const { statusCode = 0 } = response;
  if (statusCode >= 300 && statusCode < 400) {
    response.destroy();
    const message = `The server answered with status ${statusCode}: redirects are not followed.`;
    throw new McpFailure("connection", message, { isUnknown: false });
  }
  if (statusCode < 200 || statusCode > 599) {
    response.destroy();
    const message = `The server answered with status ${statusCode}, which is none.`;
    throw new McpFailure("connection", message, { isUnknown: true });
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === "string") headers.set(name, value);
  }
  if (EMPTY.has(statusCode)) {
    response.resume();
    return new Response(null, { status: statusCode, headers });
  }
  // Old servers only say that they have taken it: the answer comes by the stream that they were asked on.
  const isAnswer = ANSWER.test(headers.get("content-type") ?? "");
  const body = serverBody(response, BODY_LIMITS, () => isAnswer && operation?.onEnd());
  return new Response(body, { status: statusCode, headers });
}

/** The SDK sends text alone. */
function textOf(body: RequestInit["body"]): string {
  return typeof body === "string" ? body : "";
}
