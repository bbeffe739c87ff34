import { isIP, type Socket } from "node:net";
import { connect, type SecureContext, type TLSSocket } from "node:tls";

/** To a server, whose certificate is checked for the host that was dialled, whatever a client says. */
export interface ServerTls {
  readonly host: string;
  /** Whom to trust, instead of those whom Node does. */
  readonly context?: SecureContext | undefined;
  readonly protocols: readonly string[];
  readonly timeoutMs: number;
}

/** Rejects with the reason, and then the socket is destroyed. Nothing is sent before the certificate was checked. */
export function securedUpstream(raw: Socket, tls: ServerTls): Promise<TLSSocket> {
  const { host, context, protocols, timeoutMs } = tls;
  const socket = connect({
    socket: raw,
    ...(isIP(host) === 0 ? { servername: host } : { host }),
    ...(context !== undefined && { secureContext: context }),
    ALPNProtocols: [...protocols],
    rejectUnauthorized: true,
  });
  return whenSecure(socket, raw, timeoutMs);
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
