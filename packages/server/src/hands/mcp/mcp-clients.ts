import type { Clock } from "../../core/ports/clock.ts";
import type { EgressRecord, HandCall } from "../../core/ports/hands.ts";
import type {
  McpListing,
  McpListRequest,
  McpServerAddress,
  McpServerListed,
} from "../../core/ports/mcp-servers.ts";
import type { CredentialSource } from "../../core/ports/session-credentials.ts";
import type { OutsideAnswer } from "../runtime/run-tool.ts";
import { McpClient, type McpUser } from "./mcp-client.ts";
import { McpFailure, notSent } from "./mcp-failure.ts";
import { resultContent } from "./result-content.ts";
import type { WayOptions } from "./server-connection.ts";

export interface McpClientsOptions extends WayOptions {
  /** What sessions may use of their vaults; without it nothing. */
  readonly credentials?: CredentialSource | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly limits?: Partial<McpLimits>;
}

type McpLimits = Readonly<Record<keyof typeof MCP_LIMITS, number>>;

export const MCP_LIMITS = {
  /** For all that is asked of one server to list its tools. */
  listMs: 20_000,
  /** A client that nobody used for so long is closed. */
  idleMs: 10 * 60_000,
  /** Clients at the same time, one for each server of each session. */
  clientsMax: 512,
  /** Characters of all that the servers of a session list, as JSON. */
  listingLengthMax: 4 * 1024 * 1024,
};

/** Characters of what a server says went wrong. */
const WORDS_MAX = 2_000;

interface Entry {
  readonly client: McpClient;
  readonly handId: string;
  lastUsedMs: number;
}

type Asking = Pick<HandCall, "workspaceId" | "sessionId" | "handId" | "grant">;

/** The MCP servers of all sessions of these hands: what tools they have, and their calls. */
export class McpClients {
  readonly #options: McpClientsOptions;
  readonly #limits: McpLimits;
  readonly #entries = new Map<string, Entry>();

  constructor(options: McpClientsOptions) {
    this.#options = options;
    this.#limits = { ...MCP_LIMITS, ...options.limits };
  }

  /** Never rejects; see `McpServers`. */
  async listTools(request: McpListRequest, signal: AbortSignal): Promise<McpListing> {
    const listed = await Promise.all(
      request.servers.map(async (server) => await this.#list(server, request, signal)),
    );
    const egress = listed.flatMap(({ egress }) => egress);
    const servers = bounded(
      listed.map(({ server }) => server),
      this.#limits.listingLengthMax,
    );
    return { servers, ...(egress.length > 0 && { egress }) };
  }

  /** One call of a tool. What the server does wrong is a result with `is_error`; never rejects. */
  async run(call: HandCall, signal: AbortSignal): Promise<OutsideAnswer> {
    const { settings, input, recipe } = call;
    if (settings?.type !== "mcp") return failed("The session does not have this server any more.");
    let client: McpClient | undefined;
    try {
      client = this.#client(settings.server, call, this.#user(call, recipe.network));
      const result = await client.use(signal, (connection) =>
        connection.callTool(settings.tool, input, signal),
      );
      return {
        content: resultContent(client.masked(result)),
        is_error: result["isError"] === true,
        ...newsOf(client, false),
      };
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      const isBroken = error.kind !== "refusal";
      const told = failed(toldOf(error, client));
      return client === undefined ? told : { ...told, ...newsOf(client, isBroken) };
    }
  }

  /** Closes what nobody used for long. */
  closeIdle(): void {
    const until = this.#options.clock.now() - this.#limits.idleMs;
    this.#closeThose(({ client, lastUsedMs }) => client.isIdle && lastUsedMs <= until);
  }

  /** Of a session that is gone. */
  closeHand(handId: string): void {
    this.#closeThose((entry) => entry.handId === handId);
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(({ client }) => client.close()));
  }

  async #list(
    server: McpServerAddress,
    request: McpListRequest,
    signal: AbortSignal,
  ): Promise<{ server: McpServerListed; egress: readonly EgressRecord[] }> {
    const { name } = server;
    const late = AbortSignal.timeout(this.#limits.listMs);
    const stop = AbortSignal.any([signal, late]);
    let client: McpClient | undefined;
    try {
      client = this.#client(server, request, this.#user(request, request.network));
      const asking = client;
      const listed = await client.use(stop, (connection) =>
        connection.listTools(stop, asking.masked),
      );
      const { tools, leftOut } = listed;
      const found = { name, tools, ...(leftOut.length > 0 && { left_out: leftOut }) };
      return { server: found, egress: client.ledger.take() };
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      const message = late.aborted
        ? `The server did not say within ${this.#limits.listMs / 1_000} s what tools it has.`
        : wordsOf(error, client);
      const type = error.kind === "authentication" ? "authentication" : "connection";
      const failure = { name, tools: [], error: { type, message } } as const;
      return { server: failure, egress: client?.ledger.take() ?? [] };
    }
  }

  #user({ workspaceId, sessionId, grant }: Asking, network: McpListRequest["network"]): McpUser {
    const { credentials } = this.#options;
    const isGiven = credentials !== undefined && grant !== undefined;
    return {
      network,
      credentials: isGiven ? credentials.of({ workspaceId, sessionId, grant }) : undefined,
    };
  }

  #client(server: McpServerAddress, { sessionId, handId }: Asking, user: McpUser): McpClient {
    if (!URL.canParse(server.url)) throw notSent(`${server.url} is no address of a server.`);
    const key = JSON.stringify([sessionId, server.name, server.url]);
    const found = this.#entries.get(key);
    const lastUsedMs = this.#options.clock.now();
    if (found !== undefined) {
      found.client.serve(user);
      found.lastUsedMs = lastUsedMs;
      return found.client;
    }
    this.#makeRoom();
    const client = new McpClient(server.url, user, this.#options);
    this.#entries.set(key, { client, handId, lastUsedMs });
    return client;
  }

  #makeRoom(): void {
    if (this.#entries.size < this.#limits.clientsMax) return;
    const idle = [...this.#entries.values()].filter(({ client }) => client.isIdle);
    const oldest = Math.min(...idle.map(({ lastUsedMs }) => lastUsedMs));
    const closed = idle.find(({ lastUsedMs }) => lastUsedMs === oldest);
    if (closed === undefined) throw notSent("There are as many connections as these hands keep.");
    this.#closeThose((entry) => entry === closed);
  }

  #closeThose(isMeant: (entry: Entry) => boolean): void {
    for (const [key, entry] of this.#entries) {
      if (!isMeant(entry)) continue;
      this.#entries.delete(key);
      void entry.client.close();
    }
  }
}

/** Whom was spoken to for it, and whether the server's tools are to be looked at anew. */
function newsOf(client: McpClient, isBroken: boolean): Partial<OutsideAnswer> {
  const egress = client.ledger.take();
  const hasChanged = client.takeChanged() || isBroken;
  return {
    ...(egress.length > 0 && { egress }),
    ...(hasChanged && { tools_changed: true as const }),
  };
}

/** It may hold the server's own words, of any length. */
function wordsOf({ message }: McpFailure, client: McpClient | undefined): string {
  const words = client?.masked(message) ?? message;
  return words.length > WORDS_MAX ? `${words.slice(0, WORDS_MAX).toWellFormed()}…` : words;
}

function toldOf(error: McpFailure, client: McpClient | undefined): string {
  const { kind, isUnknown } = error;
  const message = wordsOf(error, client);
  if (isUnknown) return `${message} Whether the tool ran is not known. It is not called again.`;
  return kind === "refusal" ? message : `${message} The tool was not run.`;
}

function failed(text: string): OutsideAnswer {
  return { content: [{ type: "text", text }], is_error: true };
}

/** What does not fit any more is left out, the last servers first. */
function bounded(
  servers: readonly McpServerListed[],
  lengthMax: number,
): readonly McpServerListed[] {
  let room = lengthMax;
  return servers.map((server) => {
    const { length } = JSON.stringify(server.tools);
    if (length > room) {
      const message = "Its tools do not fit, together with those of the other servers.";
      return { name: server.name, tools: [], error: { type: "connection", message } };
    }
    room -= length;
    return server;
  });
}
