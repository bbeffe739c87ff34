import type { SandboxNetwork } from "../../core/ports/hands.ts";
import type { SessionCredentials } from "../../core/ports/session-credentials.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { EgressLedger } from "../egress/egress-ledger.ts";
import { knownSecretsOf } from "../sweep/known-secrets.ts";
import { masked } from "./masked.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpFailure, McpSessionLostError, notSent } from "./mcp-failure.ts";
import type { WayOptions } from "./server-connection.ts";
import { type ServerFetch, serverFetch } from "./server-fetch.ts";

/** On whose behalf a server is spoken to. */
export interface McpUser {
  readonly network: SandboxNetwork;
  readonly credentials: SessionCredentials | undefined;
}

const OPEN_MS = 15_000;

/** One session's way to one server: connected when it is first needed, and again when the connection was lost. */
export class McpClient {
  readonly #url: string;
  readonly #newFetch: () => ServerFetch;
  readonly ledger = new EgressLedger(() => performance.now());
  #user: McpUser;
  #connection: McpConnection | undefined;
  #opening: Promise<McpConnection> | undefined;
  #uses = 0;
  #isClosed = false;

  constructor(url: string, user: McpUser, way: WayOptions) {
    this.#url = url;
    this.#user = user;
    const { ledger } = this;
    this.#newFetch = () =>
      serverFetch(() => ({ ...way, ...this.#user, serverUrl: this.#url, ledger }));
  }

  get isIdle(): boolean {
    return this.#uses === 0;
  }

  /** From now on it is used on behalf of this one, who is the same session by another grant. */
  serve(user: McpUser): void {
    this.#user = user;
  }

  /**
   * Has something asked of the server, and once more where it had forgotten its session and so did nothing. Rejects
   * with `McpFailure`.
   */
  async use<T>(signal: AbortSignal, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    this.#uses += 1;
    try {
      return await work(await this.#connected(signal)).catch(async (error: unknown) => {
        if (!(error instanceof McpSessionLostError)) throw error;
        return await work(await this.#connected(signal));
      });
    } catch (error) {
      if (!(error instanceof McpSessionLostError)) throw error;
      throw new McpFailure("connection", "The server forgets its sessions at once.", {
        isUnknown: false,
      });
    } finally {
      this.#uses -= 1;
    }
  }

  /** What came from the server, without the secrets that it was sent; before it is cut, which could hide one. */
  readonly masked = <T>(value: T): T => {
    const { credentials } = this.#user;
    return credentials === undefined ? value : masked(value, knownSecretsOf(credentials).mask);
  };

  /** True if the server has said since the last time that it has other tools. */
  takeChanged(): boolean {
    return this.#connection?.takeChanged() === true;
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opening?.catch(() => undefined);
    await Promise.all([this.#connection?.close(), opened?.close()]);
  }

  async #connected(signal: AbortSignal): Promise<McpConnection> {
    if (this.#isClosed) throw notSent("The session's connection to the server was closed.");
    if (this.#connection?.isLost === false) return this.#connection;
    void this.#connection?.close();
    this.#connection = undefined;
    this.#opening ??= this.#open();
    return await unlessAborted(this.#opening, signal, () =>
      notSent("The server did not answer in time."),
    );
  }

  /** For all who wait for it, so that it ends with none of them. */
  async #open(): Promise<McpConnection> {
    try {
      // The SDK takes 0.2 s to load, which would be waited for with every start of hands.
      const { McpConnection } = await import("./mcp-connection.ts");
      const late = AbortSignal.timeout(OPEN_MS);
      this.#connection = await McpConnection.open(this.#url, this.#newFetch, late);
      return this.#connection;
    } finally {
      this.#opening = undefined;
    }
  }
}
