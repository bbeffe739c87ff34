import type { Socket as DatagramSocket } from "node:dgram";
import type { Server } from "node:net";
import type { EgressRecord } from "../../core/ports/hands.ts";
import type { SandboxGate } from "../../core/ports/sandbox.ts";
import { gateListener } from "./gate-listener.ts";
import { serveNames } from "./name-listener.ts";
import { type Passing, proxyListener } from "./proxy-listener.ts";
import { Interceptor, type InterceptorOptions } from "./secrets/interceptor.ts";
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
  /** Whom its programs trust, and what is put into their requests; absent where nothing is read. */
  readonly secrets?: ExitSecrets;
}

export type ExitSecrets = Omit<InterceptorOptions, "wayOut">;

/** A sandbox's only way out. It works from its making until it is closed, or this process ends. */
export class SandboxExit {
  readonly #wayOut: WayOut;
  readonly #servers: readonly Server[];
  readonly #names: DatagramSocket;

  constructor({ listeners, gate, secrets, ...options }: SandboxExitOptions) {
    this.#wayOut = new WayOut(options);
    const standIns = new StandInAddresses();
    const wayOut = this.#wayOut;
    const interceptor = secrets && new Interceptor({ ...secrets, wayOut });
    const passing: Passing = {
      pass: interceptor
        ? (client, destination) => interceptor.pass(client, destination)
        : (client, { socket }) => wayOut.relay(client, socket),
      forward: interceptor?.forward.bind(interceptor),
    };
    const transparent = transparentListener(wayOut, standIns, passing.pass);
    const proxy = gate === undefined ? proxyListener(wayOut, passing) : gateListener(wayOut, gate);
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
