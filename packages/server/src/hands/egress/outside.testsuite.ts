import { connect, createServer, type Server, Socket } from "node:net";
import { PolicyGuard } from "../../egress/destination-guard.ts";
import { EgressPolicy } from "../../egress/egress-policy.ts";
import type { Connect } from "./dial.ts";

/** A public address that tests use: whatever is sent to it stays on this machine's loopback. */
export const PUBLIC = "93.184.216.34";
export const PUBLIC_V6 = "2606:2800:220:1::1";
/** Stands for this machine's own address on a public network. */
export const OWN = "93.184.216.99";

/**
 * The world outside of a sandbox, made up: names that a test gives, the real judgement of addresses, and a
 * dialler that writes down what it is to dial and goes to a server of the test on loopback instead. What
 * no test has put there is never dialled for real.
 */
export class Outside implements AsyncDisposable {
  /** `address:port` of everything that was to be dialled, in order. */
  readonly dialled: string[] = [];
  /** Names that were looked up, in order. */
  readonly asked: string[] = [];
  readonly guard: PolicyGuard;
  /** Whom hands trust out there, as PEM; read when a sandbox is made. */
  certificates = "";
  readonly #answers = new Map<string, string[][]>();
  readonly #ports = new Map<string, number>();
  readonly #servers: { server: Server; sockets: Set<Socket> }[] = [];

  constructor(allow: readonly string[] = []) {
    this.guard = new PolicyGuard({
      policy: new EgressPolicy({ allow, ownAddresses: () => [OWN] }),
      resolve: async (host) => {
        this.asked.push(host);
        const answers = this.#answers.get(host);
        const addresses =
          answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0];
        if (addresses === undefined) throw new Error(`there is no ${host}`);
        return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      },
    });
  }

  /** What a name resolves to: with several answers the first ones are given once each. */
  name(host: string, ...answers: readonly string[][]): void {
    this.#answers.set(host, [...answers]);
  }

  /** Puts a server where the address and port are, as far as sandboxes can tell. */
  async serve(address: string, port: number, server: Server): Promise<void> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#servers.push({ server, sockets });
    const at = server.address();
    if (typeof at === "string" || at === null) throw new Error("a server without a port");
    this.#ports.set(`${address}:${port}`, at.port);
  }

  /** The same for a server that listens already. */
  lead(address: string, port: number, loopbackPort: number): void {
    this.#ports.set(`${address}:${port}`, loopbackPort);
  }

  /** The same for one that says `text` to everybody and reads nothing. */
  async say(address: string, port: number, text: string): Promise<void> {
    await this.serve(
      address,
      port,
      createServer((socket) => socket.end(text)),
    );
  }

  readonly connect: Connect = (address, port) => {
    const place = `${address}:${port}`;
    this.dialled.push(place);
    const real = this.#ports.get(place);
    if (real === undefined) {
      const nobody = new Socket();
      process.nextTick(() => nobody.destroy(new Error("nobody is there")));
      return nobody;
    }
    return connect({ host: "127.0.0.1", port: real, allowHalfOpen: true, noDelay: true });
  };

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { server, sockets } of this.#servers) {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}
