import type { Socket as DatagramSocket } from "node:dgram";
import type { Server } from "node:net";
import type { EgressRecord } from "../../core/ports/hands.ts";
import type { SandboxGate } from "../../core/ports/sandbox.ts";
import { gateListener } from "./gate-listener.ts";
import { serveNames } from "./name-listener.ts";
import { proxyListener } from "./proxy-listener.ts";
import { StandInAddresses } from "./stand-in-addresses.ts";
import { transparentListener } from "./transparent-listener.ts";
import { WayOut, type WayOutOptions } from "./way-out.ts";

/** Sockets that are open inside a sandbox's network and belong to this process. */
export interface ExitListeners {
  /** What `net.Server.listen` takes: a handle. All connections to other addresses come out here. */
  readonly transparent: unknown;
  /** The same, for programs that use a proxy. */
  readonly proxy: unknown;
  readonly names: DatagramSocket;
}

export interface SandboxExitOptions extends WayOutOptions {
  readonly listeners: ExitListeners;
  /** In place of the proxy. */
  readonly gate?: SandboxGate;
}

/** A sandbox's only way out. It works from its making until it is closed, or this process ends. */
export class SandboxExit {
  readonly #wayOut: WayOut;
  readonly #servers: readonly Server[];
  readonly #names: DatagramSocket;

  constructor({ listeners, gate, ...options }: SandboxExitOptions) {
    this.#wayOut = new WayOut(options);
    const standIns = new StandInAddresses();
    const transparent = transparentListener(this.#wayOut, standIns);
    const proxy =
      gate === undefined ? proxyListener(this.#wayOut) : gateListener(this.#wayOut, gate);
    this.#servers = [transparent, proxy];
    this.#names = listeners.names;
    serveNames(this.#names, this.#wayOut, standIns);
    transparent.listen(listeners.transparent);
    proxy.listen(listeners.proxy);
  }

  takeEgress(): readonly EgressRecord[] {
    return this.#wayOut.takeEgress();
  }

  /** Ends all connections and listens no more. What was decided can still be taken. */
  close(): void {
    for (const server of this.#servers) server.close();
    this.#names.close();
    this.#wayOut.close();
  }
}
