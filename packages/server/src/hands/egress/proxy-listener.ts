import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import { pipeline } from "node:stream";
import type { Destination, Pass } from "./pass.ts";
import type { WayOut } from "./way-out.ts";

/** Headers that are for the next hop alone (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const HTTP_PORT = 80;

/** Passes on one plain request; false, and nothing done, where it is not to be read. */
export type Forward = (
  asked: IncomingMessage,
  response: ServerResponse,
  destination: Destination,
) => Promise<boolean>;

/** What becomes of what was permitted. */
export interface Passing {
  readonly pass: Pass;
  readonly forward: Forward | undefined;
}

/** An HTTP proxy for programs that are told to use one: `CONNECT`, and requests with a whole URL. */
export function proxyListener(wayOut: WayOut, passing: Passing): Server {
  const { idleMs } = wayOut.limits;
  // Uploads may take long: a connection over which nothing goes is ended, and no other.
  const server = createServer({ requestTimeout: 0, noDelay: true });
  wayOut.watch(server);
  server.timeout = idleMs;
  server.on("connection", (socket) => wayOut.entered(socket));
  server.on("connect", (asked: IncomingMessage, stream, head: Buffer) => {
    wayOut.serve(stream, async () => {
      // Over TCP it is nothing else.
      if (!(stream instanceof Socket)) throw new Error("a connection that is no socket");
      await tunnel(wayOut, { target: asked.url ?? "", client: stream, head, pass: passing.pass });
    });
  });
  server.on("request", (asked, response) => {
    wayOut.serve(asked.socket, () => forward(wayOut, { asked, response, read: passing.forward }));
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

interface Tunnel {
  /** `host:port` as the client sent it. */
  readonly target: string;
  readonly client: Socket;
  /** What the client sent without waiting. */
  readonly head: Buffer;
  readonly pass: Pass;
}

async function tunnel(wayOut: WayOut, { target, client, head, pass }: Tunnel): Promise<void> {
  const [, host, port] = /^(.{1,300}):(\d{1,5})$/.exec(target) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    return void client.end(answer(400, "CONNECT needs host:port"));
  }
  const opened = await wayOut.open(host, Number(port));
  if (opened.type !== "connected") {
    return void client.end(answer(statusOf(opened.type), sentence(host, opened)));
  }
  if (client.destroyed) return void opened.socket.destroy();
  client.setTimeout(0);
  client.removeAllListeners("timeout");
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  if (head.length > 0) client.unshift(head);
  await pass(client, { host, port: Number(port), socket: opened.socket });
}

interface Forwarding {
  readonly asked: IncomingMessage;
  readonly response: ServerResponse;
  readonly read: Forward | undefined;
}

async function forward(wayOut: WayOut, { asked, response, read }: Forwarding): Promise<void> {
  const url = asked.url !== undefined && URL.canParse(asked.url) ? new URL(asked.url) : undefined;
  if (url?.protocol !== "http:") {
    return refuse(
      asked,
      response,
      400,
      "This is a proxy: it needs a whole http:// URL or CONNECT.",
    );
  }
  const port = url.port === "" ? HTTP_PORT : Number(url.port);
  const opened = await wayOut.open(url.hostname, port);
  if (opened.type !== "connected") {
    return refuse(asked, response, statusOf(opened.type), sentence(url.hostname, opened));
  }
  const { socket } = opened;
  if (response.destroyed) return void socket.destroy();
  socket.setTimeout(wayOut.limits.idleMs, () => socket.destroy());
  if (await read?.(asked, response, { host: url.hostname, port, socket })) return;
  const sent = request({
    createConnection: () => socket,
    method: asked.method,
    path: `${url.pathname}${url.search}`,
    headers: [...forwarded(asked), ...framing(asked), "host", url.host, "connection", "close"],
    setHost: false,
  });
  sent.on("response", (received) => {
    wayOut.serve(socket, async () => answerWith(received, response, socket));
  });
  giveUpTogether(sent, response, url.hostname);
  pipeline(asked, sent, () => undefined);
}

/** Without the words of its status line: a server may put there what no answer of ours may hold. */
function answerWith(received: IncomingMessage, response: ServerResponse, upstream: Socket): void {
  const { statusCode = 0 } = received;
  if (statusCode < 200 || statusCode > 999)
    return void upstream.destroy(new Error("no HTTP status"));
  response.writeHead(statusCode, forwarded(received));
  pipeline(received, response, () => upstream.destroy());
}

function giveUpTogether(sent: ClientRequest, response: ServerResponse, host: string): void {
  const fail = (reason: string) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end(sentence(host, { type: "failed", reason }));
  };
  sent.on("error", ({ message }) => fail(message));
  // Such as of one that answers by another protocol, or by what is no status.
  sent.on("close", () => {
    if (!response.headersSent) fail("it did not answer");
  });
  response.on("close", () => sent.destroy());
}

/** A body that came in chunks goes on in chunks, whatever the method: without, its end would not be seen. */
function framing({ headers }: IncomingMessage): string[] {
  return headers["transfer-encoding"] === undefined ? [] : ["transfer-encoding", "chunked"];
}

/** Pairs of names and values, without what is for this hop; `host` is set anew from the URL. */
function forwarded({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/\s*,\s*/));
  return rawHeaders.flatMap((name, index) => {
    const value = rawHeaders[index + 1];
    if (index % 2 === 1 || value === undefined) return [];
    const key = name.toLowerCase();
    return HOP_BY_HOP.has(key) || named.has(key) || key === "host" ? [] : [name, value];
  });
}

function refuse(
  asked: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
): void {
  // Not read any further, so nothing else can be asked over this connection.
  response.writeHead(status, { "content-type": "text/plain", connection: "close" });
  response.end(`${message}\n`);
  asked.resume();
}

function answer(status: number, message: string): string {
  const words = { 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway" }[status] ?? "Error";
  const body = `${message}\n`;
  return [
    `HTTP/1.1 ${status} ${words}`,
    "content-type: text/plain",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}

function statusOf(type: "refused" | "failed"): number {
  return type === "refused" ? 403 : 502;
}

function sentence(
  host: string,
  { type, reason }: { readonly type: "refused" | "failed"; readonly reason: string },
): string {
  const what = type === "refused" ? "may not be reached from this sandbox" : "could not be reached";
  return `${host} ${what}: ${reason}`;
}
