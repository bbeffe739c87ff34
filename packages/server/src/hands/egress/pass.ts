import type { Socket } from "node:net";

/** Where a connection leads that was permitted and made. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly socket: Socket;
}

/** Serves a connection from inside, to its end, by what it leads to. */
export type Pass = (client: Socket, destination: Destination) => Promise<void>;
