import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Host, readHost } from "../../core/egress/host.ts";
import { judgeHost } from "../../core/egress/policy.ts";
import type { DestinationGuard } from "../../core/ports/egress.ts";
import type { EgressRecord, SandboxNetwork } from "../../core/ports/hands.ts";
import { type Connect, connectDirectly, type Dialled, dial } from "./dial.ts";
import type { EgressLedger } from "./egress-ledger.ts";
import { type RelayLimits, relay } from "./relay.ts";

export interface EgressLimits extends RelayLimits {
  /** Of one sandbox, at a time and a listener; further ones are closed. */
  readonly connections: number;
  /** For connecting to one address. */
  readonly connectMs: number;
  /** Answers to questions for names, a second; further ones get none. */
  readonly namesPerSecond: number;
  /** Requests at a time over one connection that is read. */
  readonly streams: number;
  /** Connections that those may need, to a server that takes one request at a time over each. */
  readonly upstreams: number;
}

export const EGRESS_LIMITS: EgressLimits = {
  connections: 256,
  connectMs: 10_000,
  idleMs: 15 * 60_000,
  halfOpenMs: 2 * 60_000,
  namesPerSecond: 500,
  streams: 100,
  upstreams: 16,
};

export interface WayOutOptions {
  readonly network: SandboxNetwork;
  readonly guard: DestinationGuard;
  readonly connect?: Connect;
  readonly limits?: Partial<EgressLimits>;
  readonly ledger: EgressLedger;
  /** Hears of what must not happen; the connection that it happened to is ended. */
  readonly onProblem?: (error: unknown) => void;
}

const NOBODY = "no host has such a name";

/** The one place where it is decided whom a sandbox speaks to, whichever of its ways a program takes. */
export class WayOut {
  readonly limits: EgressLimits;
  readonly #options: WayOutOptions;
  readonly #ledger: EgressLedger;
  /** Of both sides of what is open. */
  readonly #sockets = new Set<Socket>();
  #isClosed = false;

  constructor(options: WayOutOptions) {
    this.#options = options;
    this.#ledger = options.ledger;
    this.limits = { ...EGRESS_LIMITS, ...options.limits };
  }

  /** The name as it is to be used from here on; undefined, and recorded, if it is not permitted. */
  permittedName(text: string): string | undefined {
    const host = readHost(text);
    const verdict = this.#judge(host);
    if (host?.type === "name" && verdict === undefined) return host.text;
    this.refused(host?.text ?? shown(text), null, verdict ?? "an address is not a name");
    return undefined;
  }

  /** Connects to what was meant, if that is permitted, and records it. Never rejects. */
  async open(text: string, port: number): Promise<Dialled> {
    const host = readHost(text);
    const refusal = this.#judge(host);
    if (host === undefined || refusal !== undefined) {
      return this.refused(host?.text ?? shown(text), port, refusal ?? NOBODY);
    }
    if (port === 0) return this.refused(host.text, port, "there is no port 0");
    const { guard, connect = connectDirectly } = this.#options;
    const { connectMs } = this.limits;
    const dialled = await dial(host.text, port, {
      guard,
      connect: (address, at) => this.#known(connect(address, at)),
      connectMs,
    });
    if (dialled.type !== "connected") {
      const { type: verdict, reason } = dialled;
      this.#ledger.count({ host: host.text, port, verdict, reason });
      return dialled;
    }
    const { socket } = dialled;
    if (this.#isClosed) {
      socket.destroy();
      return { type: "failed", reason: "the sandbox has ended" };
    }
    const ended = this.#ledger.connected(host.text, port, () => ({
      up: socket.bytesWritten,
      down: socket.bytesRead,
    }));
    socket.once("close", ended);
    return dialled;
  }

  /** Records what was refused before its host could be judged. */
  refused(host: string, port: number | null, reason: string): Dialled {
    this.#ledger.count({ host, port, verdict: "refused", reason });
    return { type: "refused", reason };
  }

  /** A connection from inside; it ends with the sandbox. */
  entered(client: Socket): void {
    this.#known(client);
    // A client that goes away is not an error of anybody's.
    client.on("error", () => undefined);
    if (this.#isClosed) client.destroy();
  }

  /** Does something for one connection; whatever goes wrong with it stays with it. */
  serve(client: Duplex, work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#options.onProblem?.(error);
      client.destroy();
    });
  }

  /** A listener that cannot take a connection, for want of descriptors perhaps, goes on with the next. */
  watch(server: Server): void {
    server.maxConnections = this.limits.connections;
    server.on("drop", () => this.refused("*", null, "too many connections at a time"));
    server.on("error", (error) => this.#options.onProblem?.(error));
  }

  async relay(client: Socket, upstream: Socket): Promise<void> {
    await relay(client, upstream, this.limits);
  }

  takeEgress(): readonly EgressRecord[] {
    return this.#ledger.take();
  }

  /** Ends every connection, and each that is being made. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #judge(host: Host | undefined): string | undefined {
    if (host === undefined) return NOBODY;
    const verdict = judgeHost(this.#options.network, host);
    return verdict.type === "refused" ? verdict.reason : undefined;
  }

  #known(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }
}

/** What a program made up, fit to be kept. */
function shown(text: string): string {
  const plain = text.replace(/[^\w.:*-]/g, "?").slice(0, 253);
  return plain === "" ? "?" : plain;
}
