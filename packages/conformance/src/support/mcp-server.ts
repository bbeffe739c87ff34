import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface McpServer extends AsyncDisposable {
  /** Of the MCP endpoint. */
  readonly url: string;
  readonly tokenEndpoint: string;
  /** The only access token that is taken. */
  token: string;
  /** What a refresh token is exchanged for; undefined refuses it. */
  refreshed: string | undefined;
  /** What the MCP endpoint answers to everything, if it is to. */
  status: number | undefined;
  /** Where it leads with that. */
  location: string;
  /** How many there were. */
  requests: number;
}

/** An MCP server on this machine with the tool `repeat`, and the token endpoint of its OAuth server. */
export async function openMcpServer(token: string): Promise<McpServer> {
  const server = createServer((request, response) => {
    world.requests += 1;
    if (request.url === "/token") answerToken(response, world);
    else void answerMcp(request, response, world);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const world: McpServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    tokenEndpoint: `http://127.0.0.1:${port}/token`,
    token,
    refreshed: undefined,
    status: undefined,
    location: "",
    requests: 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return world;
}

function answerToken(response: ServerResponse, { refreshed }: McpServer): void {
  if (refreshed === undefined) answer(response, 400, { error: "invalid_grant" });
  else answer(response, 200, { access_token: refreshed, token_type: "Bearer", expires_in: 3600 });
}

async function answerMcp(
  request: IncomingMessage,
  response: ServerResponse,
  { token, status, location }: McpServer,
): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  if (status !== undefined) return void response.writeHead(status, { location }).end();
  if (request.headers.authorization !== `Bearer ${token}`) {
    return answer(response, 401, { error: "unauthorized" });
  }
  if (request.method !== "POST") return answer(response, 405, { error: "no stream here" });
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return void response.writeHead(202).end();
  answer(response, 200, { jsonrpc: "2.0", id, result: resultOf(method, params) });
}

const REPEAT = {
  name: "repeat",
  description: "Repeats what it is given.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

interface Params {
  readonly protocolVersion?: string;
  readonly arguments?: { readonly text?: string };
}

function resultOf(method: string, params: Params | undefined): object {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion ?? "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "conformance", version: "1" },
      };
    case "tools/call":
      return { content: [{ type: "text", text: `You said ${params?.arguments?.text}.` }] };
    default:
      return { tools: [REPEAT] };
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
