import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerMessage } from "./messages.ts";
import { answerToken, type OAuthClient } from "./tokens.ts";

/** A request that arrived, as far as tests look at it. */
export interface McpSeen {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Answers instead of the double; false leaves it to it. */
export type McpOverride = (seen: McpSeen, response: ServerResponse) => boolean | undefined;

export interface McpServerOptions {
  /** The access tokens that are taken. */
  readonly accessTokens?: readonly string[];
  /** The refresh tokens that can be exchanged, each once. */
  readonly refreshTokens?: readonly string[];
  /** How the token endpoint knows its client; `public` by its id alone. */
  readonly client?: OAuthClient;
  /** Messages are answered as an event stream, which stays open. */
  readonly streams?: boolean;
}

export interface McpServer extends AsyncDisposable {
  /** Of the MCP endpoint. */
  readonly url: string;
  readonly tokenEndpoint: string;
  readonly accessTokens: Set<string>;
  readonly refreshTokens: Set<string>;
  readonly seen: readonly McpSeen[];
  override: McpOverride | undefined;
}

/**
 * An MCP server (Streamable HTTP, with sessions) on loopback that takes certain bearer tokens, and the
 * token endpoint of its OAuth server, which takes each refresh token once and gives another.
 */
export async function startMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  const seen: McpSeen[] = [];
  const world = {
    accessTokens: new Set(options.accessTokens),
    refreshTokens: new Set(options.refreshTokens),
    override: undefined as McpOverride | undefined,
  };
  const server = createServer((request, response) => {
    void (async () => {
      const { url: path = "", method = "", headers } = request;
      const arrived = { path, method, headers, body: await textOf(request) };
      seen.push(arrived);
      if (world.override?.(arrived, response) === true) return;
      if (path === "/token") answerToken(arrived, response, { ...world, client: options.client });
      else answerMessage(arrived, response, { ...world, streams: options.streams === true });
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(world, {
    url: `http://127.0.0.1:${port}/mcp`,
    tokenEndpoint: `http://127.0.0.1:${port}/token`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
