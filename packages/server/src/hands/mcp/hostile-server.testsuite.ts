import type { ServerResponse } from "node:http";
import { type McpServer, startMcpServer } from "@drover/testing";
import { onTestFinished } from "vitest";
import type { HandCall, SandboxNetwork } from "../../core/ports/hands.ts";
import type { SessionCredentials } from "../../core/ports/session-credentials.ts";
import { openGuard, plainAllowed } from "../../egress/open-egress.ts";
import { connectDirectly } from "../egress/dial.ts";
import { makeCall } from "../fake/make-call.ts";
import { type MCP_LIMITS, McpClients } from "./mcp-clients.ts";

export interface Rpc {
  readonly id: number | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly response: ServerResponse;
}

/** What a server says to a method: its result, or undefined where the handler answered by itself. */
export type Handlers = Readonly<Record<string, (rpc: Rpc) => object | undefined>>;

export const INITIALIZED = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "hostile", version: "1" },
};

export function answerJson(response: ServerResponse, body: unknown, status = 200): undefined {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json" }).end(text);
}

/** A server of ours on loopback that does what it is told to, however wrong that is. */
export async function startServer(handlers: Handlers): Promise<McpServer> {
  const server = await startMcpServer();
  onTestFinished(async () => await server[Symbol.asyncDispose]());
  server.override = ({ method: verb, body, headers }, response) => {
    if (verb === "POST") answerMessage(JSON.parse(body), { handlers, headers, response });
    else if (handlers[verb] === undefined) response.writeHead(405).end();
    else handlers[verb]({ id: undefined, method: verb, params: {}, headers, response });
    return true;
  };
  return server;
}

type Arrived = Pick<Rpc, "headers" | "response"> & { readonly handlers: Handlers };

function answerMessage(message: Message, { handlers, headers, response }: Arrived): void {
  const { id, method, params = {} } = message;
  // An answer to what the server asked.
  if (method === undefined)
    handlers["answer"]?.({ id, method: "answer", params: { ...message }, headers, response });
  const result =
    method === undefined
      ? undefined
      : (handlers[method] ?? usual)({ id, method, params, headers, response });
  if (result !== undefined) answerJson(response, rpcResult(id, result));
  else if (id === undefined || method === undefined) response.writeHead(202).end();
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

function usual({ id, method, response }: Rpc): object | undefined {
  if (method === "initialize") return INITIALIZED;
  if (id === undefined) return undefined;
  return answerJson(response, { jsonrpc: "2.0", id, error: { code: -32_601, message: "no" } });
}

export function rpcResult(id: number | undefined, result: object) {
  return { jsonrpc: "2.0", id, result };
}

/** Clients that may dial loopback, for a server. */
export function openClients(
  { url }: Pick<McpServer, "url">,
  options: {
    readonly allow?: readonly string[];
    readonly network?: SandboxNetwork;
    readonly credentials?: SessionCredentials;
    readonly certificates?: string;
    readonly now?: () => number;
    readonly limits?: Partial<typeof MCP_LIMITS>;
  } = {},
) {
  const { allow = ["127.0.0.1/32"], credentials, certificates, now = () => Date.now() } = options;
  const { network = { type: "unrestricted" }, limits = {} } = options;
  const clients = new McpClients({
    guard: openGuard(allow),
    connect: connectDirectly,
    isPlainAllowed: plainAllowed(allow),
    clock: { now },
    limits,
    ...(certificates !== undefined && { certificates }),
    ...(credentials !== undefined && { credentials: { of: () => credentials } }),
  });
  onTestFinished(() => clients.close());
  const server = { name: "server", url };
  const grant = credentials === undefined ? {} : { grant: "grant" };
  const call = makeCall();
  const { workspaceId, sessionId, handId } = call;
  return {
    clients,
    list: async (signal: AbortSignal = new AbortController().signal) => {
      const request = { workspaceId, sessionId, handId, network, servers: [server], ...grant };
      const { servers, egress } = await clients.listTools(request, signal);
      const [listed] = servers;
      if (listed === undefined) throw new Error("nothing was listed");
      return { ...listed, egress };
    },
    call: async (
      tool: string,
      input: HandCall["input"] = {},
      signal: AbortSignal = new AbortController().signal,
    ) =>
      await clients.run(
        {
          ...{ ...call, ...grant, input, name: `mcp__server__${tool}` },
          recipe: { ...call.recipe, network },
          settings: { type: "mcp", server, tool },
        },
        signal,
      ),
  };
}
