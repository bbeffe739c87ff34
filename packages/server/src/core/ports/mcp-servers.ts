import type { EgressRecord, SandboxNetwork } from "./hands.ts";

/**
 * The MCP servers of sessions, as whoever makes requests to models knows them: what tools they have. Calls of
 * these go the way of all calls, see `Hands`.
 */
export interface McpServers {
  /**
   * Asks all servers at once. Never rejects and ends within some seconds, with an error for each server that
   * could not be asked until then. Starts hands if none run, and makes no sandbox. Asking again is safe.
   */
  listTools(request: McpListRequest, signal: AbortSignal): Promise<McpListing>;
}

/** An MCP server of an agent. */
export interface McpServerAddress {
  /** Unique within its agent. */
  readonly name: string;
  readonly url: string;
}

/** What is to be asked of a session's servers. */
export interface McpListRequest {
  readonly workspaceId: string;
  readonly sessionId: string;
  /** The session's; its clients end with it. */
  readonly handId: string;
  /** Whom the session may speak to. */
  readonly network: SandboxNetwork;
  readonly servers: readonly McpServerAddress[];
  /** By what the hands may ask for the session's credentials; absent for a session that has none. */
  readonly grant?: string;
}

/** What a session's servers have, in the order in which they were asked for. */
export interface McpListing {
  readonly servers: readonly McpServerListed[];
  /** Whom the hands spoke to for it; absent for nobody. */
  readonly egress?: readonly EgressRecord[];
}

export interface McpServerListed {
  readonly name: string;
  /** Empty if the server failed. */
  readonly tools: readonly McpToolListed[];
  /** Tools that cannot be offered to a model, and why; absent for none. */
  readonly left_out?: readonly McpToolLeftOut[];
  readonly error?: McpServerFailure;
}

/** A tool in a form that every model's API takes. */
export interface McpToolListed {
  /** As its server calls it; unique there. */
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: "object"; readonly [key: string]: unknown };
}

export interface McpToolLeftOut {
  /** Shortened where it is long. */
  readonly name: string;
  /** A phrase: the tool … */
  readonly reason: string;
}

export interface McpServerFailure {
  /** `authentication`: it was reached, and takes no or another token. */
  readonly type: "connection" | "authentication";
  /** A sentence. */
  readonly message: string;
}
