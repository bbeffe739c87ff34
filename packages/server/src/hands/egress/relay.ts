import type { Socket } from "node:net";

export interface RelayLimits {
  /** A connection over which nothing goes in either direction for so long is ended. */
  readonly idleMs: number;
  /** The same once one side has said that it sends no more. */
  readonly halfOpenMs: number;
}

/**
 * Passes on what each side sends, as fast as the other takes it, and the end of each direction by itself.
 * Both must be made with `allowHalfOpen`. Resolves when both are closed.
 */
export async function relay(client: Socket, upstream: Socket, limits: RelayLimits): Promise<void> {
  const closed = Promise.all([join(client, upstream, limits), join(upstream, client, limits)]);
  client.pipe(upstream);
  upstream.pipe(client);
  await closed;
}

function join(one: Socket, other: Socket, { idleMs, halfOpenMs }: RelayLimits): Promise<void> {
  let isOver = false;
  one.setTimeout(idleMs, () => one.destroy());
  one.once("end", () => {
    isOver = true;
    one.setTimeout(halfOpenMs);
    other.setTimeout(halfOpenMs);
  });
  // What went wrong on one side is a reset on the other: nobody is to take a part for the whole.
  one.on("error", () => reset(other));
  const closed = Promise.withResolvers<void>();
  const onClose = () => {
    if (!isOver || !one.writableFinished) reset(other);
    closed.resolve();
  };
  if (one.closed) onClose();
  else one.once("close", onClose);
  return closed.promise;
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}
