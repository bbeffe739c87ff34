import type { Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import type { ServerIdentity } from "../trust/sandbox-authority.ts";

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
