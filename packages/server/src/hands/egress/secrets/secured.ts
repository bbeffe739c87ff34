import { isIP, type Socket } from "node:net";
import { connect, createServer, type SecureContext, type TLSSocket } from "node:tls";
import type { ServerIdentity } from "../trust/sandbox-authority.ts";

/** To a server, whose certificate is checked for the host that was dialled, whatever a client says. */
export interface ServerTls {
  readonly host: string;
  /** Whom to trust. */
  readonly context: SecureContext;
  readonly protocols: readonly string[];
  readonly timeoutMs: number;
}

/** Rejects with the reason, and then the socket is destroyed. Nothing is sent before the certificate was checked. */
export function securedUpstream(raw: Socket, tls: ServerTls): Promise<TLSSocket> {
  const { host, context, protocols, timeoutMs } = tls;
  const socket = connect({
    socket: raw,
    ...(isIP(host) === 0 ? { servername: host } : { host }),
    secureContext: context,
    ALPNProtocols: [...protocols],
    rejectUnauthorized: true,
  });
  return whenSecure(socket, raw, timeoutMs);
}

/** To a client, which is shown a certificate for the host that it dialled. */
export interface ClientTls {
  readonly identity: ServerIdentity;
  readonly timeoutMs: number;
}

/** Rejects with the reason, and then the socket is destroyed. */
export async function securedClient(
  raw: Socket,
  { identity, timeoutMs }: ClientTls,
): Promise<TLSSocket> {
  const outcome = Promise.withResolvers<TLSSocket>();
  // Only a server makes sockets that HTTP/2 takes for secure.
  const server = createServer({
    ...identity,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: timeoutMs,
  });
  server.once("secureConnection", (socket) => {
    socket.on("error", () => undefined);
    outcome.resolve(socket);
  });
  server.on("tlsClientError", outcome.reject);
  raw.once("close", () => outcome.reject(new Error("the client hung up")));
  server.emit("connection", raw);
  try {
    return await outcome.promise;
  } catch (error) {
    raw.destroy();
    throw error;
  }
}

async function whenSecure(socket: TLSSocket, raw: Socket, timeoutMs: number): Promise<TLSSocket> {
  const outcome = Promise.withResolvers<TLSSocket>();
  const timer = setTimeout(() => outcome.reject(new Error("no TLS in time")), timeoutMs);
  socket.once("secureConnect", () => outcome.resolve(socket));
  // Stays: an error that comes when nobody waits any more would end the process.
  socket.on("error", (error) => outcome.reject(error));
  socket.once("close", () => outcome.reject(new Error("the other side hung up")));
  try {
    return await outcome.promise;
  } catch (error) {
    socket.destroy();
    raw.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
