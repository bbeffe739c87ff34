import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { type ExchangePlace, exchange } from "./exchange.ts";
import { isWebSocket, passUpgrade } from "./pass-upgrade.ts";
import { HEADER_BYTES_MAX } from "./upstream.ts";

export interface ConnectionLimits {
  /** A connection over which nothing goes for so long is ended. */
  readonly idleMs: number;
  /** Requests of one connection at a time. */
  readonly streamsMax: number;
}

/**
 * Answers the requests of one connection from inside, in the protocol that was agreed on, by asking its upstream.
 * Resolves when the connection is closed.
 */
export async function serveConnection(
  client: Socket,
  place: ExchangePlace,
  limits: ConnectionLimits,
): Promise<void> {
  const closed = Promise.withResolvers<void>();
  if (client.destroyed) closed.resolve();
  else client.once("close", () => closed.resolve());
  const isHttp2 = client instanceof TLSSocket && client.alpnProtocol === "h2";
  const server = isHttp2 ? http2Server(place, limits) : http1Server(place, limits);
  server.emit("connection", client);
  try {
    await closed.promise;
  } finally {
    place.upstream.close();
  }
}

function http1Server(place: ExchangePlace, { idleMs }: ConnectionLimits): Server {
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: idleMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    noDelay: true,
    // Others are asked as if they had offered nothing; Node 22 does not know this.
    shouldUpgradeCallback: isWebSocket,
  });
  server.timeout = idleMs;
  server.on("request", (asked, response) => void exchange(asked, response, place));
  server.on("upgrade", (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    void passUpgrade({ asked, client, head, idleMs }, place);
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

function http2Server(place: ExchangePlace, limits: ConnectionLimits): Http2Server {
  const server = createHttp2Server({
    settings: {
      enableConnectProtocol: false,
      maxConcurrentStreams: limits.streamsMax,
      maxHeaderListSize: HEADER_BYTES_MAX,
    },
  });
  server.on("session", (session) => {
    session.setTimeout(limits.idleMs, () => session.destroy());
    session.on("error", () => undefined);
  });
  server.on("sessionError", () => undefined);
  server.on("request", (asked, response) => {
    asked.on("error", () => undefined);
    response.on("error", () => undefined);
    void exchange(asked, response, place);
  });
  return server;
}
