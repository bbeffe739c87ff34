import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { McpSeen } from "./server.ts";

interface MessageWorld {
  readonly accessTokens: ReadonlySet<string>;
  readonly streams: boolean;
}

const TOOLS = [{ name: "search", description: "Searches.", inputSchema: { type: "object" } }];

/** As the specification of Streamable HTTP has it; what breaks it is refused by name. */
export function answerMessage(seen: McpSeen, response: ServerResponse, world: MessageWorld): void {
  const token = /^Bearer (.+)$/.exec(seen.headers.authorization ?? "")?.[1] ?? "";
  if (!world.accessTokens.has(token)) {
    response.setHeader("www-authenticate", 'Bearer error="invalid_token"');
    json(response, 401, { error: "invalid_token", token_was: token });
    return;
  }
  if (seen.method === "DELETE") {
    response.writeHead(204).end();
    return;
  }
  if (seen.method !== "POST") {
    json(response, 405, { error: "no stream here" });
    return;
  }
  const problem = problemOf(seen);
  if (problem !== undefined) {
    json(response, 400, { error: problem });
    return;
  }
  const { id, method } = JSON.parse(seen.body);
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const message = { jsonrpc: "2.0", id, ...resultOf(method) };
  if (method === "initialize") response.setHeader("mcp-session-id", randomUUID());
  if (!world.streams) {
    json(response, 200, message);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`: hello\n\nevent: message\ndata: ${JSON.stringify(message)}\n\n`);
}

function problemOf({ headers, body }: McpSeen): string | undefined {
  const accept = headers.accept ?? "";
  const takesBoth = ["application/json", "text/event-stream"].every((type) =>
    accept.includes(type),
  );
  if (!takesBoth) return "accept must have application/json and text/event-stream";
  if (headers["content-type"] !== "application/json") return "the content must be JSON";
  const { jsonrpc, method, params } = JSON.parse(body);
  if (jsonrpc !== "2.0") return "jsonrpc must be 2.0";
  if (method === "initialize") {
    const { protocolVersion, capabilities, clientInfo } = params ?? {};
    const isWhole = [protocolVersion, capabilities, clientInfo].every((part) => part !== undefined);
    return isWhole ? undefined : "initialize needs version, capabilities and client";
  }
  if (headers["mcp-session-id"] === undefined) return "the session's id is missing";
  return headers["mcp-protocol-version"] === "2025-03-26" ? undefined : "the version is not ours";
}

function resultOf(method: string): object {
  switch (method) {
    case "initialize":
      return {
        result: {
          // An older one than any client offers first, which it has to take.
          protocolVersion: "2025-03-26",
          capabilities: { tools: {} },
          serverInfo: { name: "double", version: "1" },
        },
      };
    case "tools/list":
      return { result: { tools: TOOLS } };
    default:
      return { error: { code: -32_601, message: `there is no ${method}` } };
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
