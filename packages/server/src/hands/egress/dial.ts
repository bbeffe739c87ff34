import { connect, type Socket } from "node:net";
import type { DestinationGuard } from "../../core/ports/egress.ts";

/** Begins to connect to an address, which is dialled as it is. */
export type Connect = (address: string, port: number) => Socket;

export type Dialled =
  | { readonly type: "connected"; readonly socket: Socket }
  | { readonly type: "refused"; readonly reason: string }
  | { readonly type: "failed"; readonly reason: string };

const REASON_LENGTH_MAX = 200;

export const connectDirectly: Connect = (host, port) =>
  connect({ host, port, allowHalfOpen: true, noDelay: true });

/** Connects to the first of a host's addresses that answers, of those that may be dialled. Never rejects. */
export async function dial(
  host: string,
  port: number,
  { guard, connect, connectMs }: { guard: DestinationGuard; connect: Connect; connectMs: number },
): Promise<Dialled> {
  const found = await guard.destinations(host);
  if (found.type !== "addresses") return { type: found.type, reason: found.message };
  let reason = "no address answers";
  for (const address of found.addresses) {
    const outcome = await connected(connect(address, port), connectMs);
    if (typeof outcome !== "string") return { type: "connected", socket: outcome };
    reason = outcome.slice(0, REASON_LENGTH_MAX);
  }
  return { type: "failed", reason };
}

/** A sentence instead if it does not come about. */
async function connected(socket: Socket, connectMs: number): Promise<Socket | string> {
  const outcome = Promise.withResolvers<Socket | string>();
  socket.setTimeout(connectMs, () => socket.destroy(new Error("the host does not answer")));
  socket.once("connect", () => outcome.resolve(socket));
  // Stays: an error that comes when nobody waits any more would end the process.
  socket.on("error", ({ message }) => outcome.resolve(message));
  socket.once("close", () => outcome.resolve("the host does not answer"));
  const result = await outcome.promise;
  if (result === socket) {
    socket.setTimeout(0);
    socket.removeAllListeners("timeout");
  }
  return result;
}
