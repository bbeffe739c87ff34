import { createServer, type Server } from "node:net";
import { ScriptedCredentials } from "../../fake/scripted-credentials.ts";
import { EgressLedger } from "../egress-ledger.ts";
import { Outside, PUBLIC } from "../outside.testsuite.ts";
import { SandboxAuthority } from "../trust/sandbox-authority.ts";
import { type EgressLimits, WayOut } from "../way-out.ts";
import { Interceptor } from "./interceptor.ts";

export const KEY = `drover-secret-${"k".repeat(32)}`;
export const SECRET = "s3cret-of-the-session";

/** A way out that reads, without a sandbox: whoever connects to its port meant `host` at 443. */
export class InterceptedWorld implements AsyncDisposable {
  readonly outside = new Outside();
  readonly credentials = new ScriptedCredentials();
  /** Signs for the servers outside. */
  readonly outer = new SandboxAuthority();
  /** Signs for what the client is shown. */
  readonly inner = new SandboxAuthority();
  readonly ledger = new EgressLedger(() => performance.now());
  readonly problems: unknown[] = [];
  readonly wayOut: WayOut;
  readonly #server: Server;

  private constructor(host: string, limits: Partial<EgressLimits>) {
    const { guard, connect } = this.outside;
    this.outside.name(host, [PUBLIC]);
    this.credentials.set(
      {
        type: "environment_variable",
        credential_id: "vcred_1",
        vault_id: "vlt_1",
        secret_name: "KEY",
        placeholder: KEY,
        allowed_hosts: null,
        injection_location: { header: true, body: true },
      },
      SECRET,
    );
    const wayOut = new WayOut({
      network: { type: "unrestricted" },
      ...{ guard, connect, limits, ledger: this.ledger },
      onProblem: (error) => this.problems.push(error),
    });
    this.wayOut = wayOut;
    const interceptor = new Interceptor({
      ...{ credentials: this.credentials, authority: this.inner, wayOut },
      certificates: this.outer.pem,
    });
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
      wayOut.serve(client, async () => {
        wayOut.entered(client);
        const opened = await wayOut.open(host, 443);
        if (opened.type !== "connected") return void client.resetAndDestroy();
        await interceptor.pass(client, { host, port: 443, socket: opened.socket });
      });
    });
  }

  static async open(
    host = "api.test",
    limits: Partial<EgressLimits> = {},
  ): Promise<InterceptedWorld> {
    const world = new InterceptedWorld(host, limits);
    await new Promise<void>((resolve) => world.#server.listen(0, "127.0.0.1", resolve));
    return world;
  }

  get port(): number {
    const at = this.#server.address();
    if (at === null || typeof at === "string") throw new Error("a server without a port");
    return at.port;
  }

  /** For a client of the host. */
  get tls() {
    return { host: "127.0.0.1", port: this.port, servername: "api.test", ca: this.inner.pem };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.wayOut.close();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.outside[Symbol.asyncDispose]();
  }
}
