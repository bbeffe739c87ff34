import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * An MCP server on loopback that tells whatever token it gets: in the results of `tell`, in the errors of `fail`, and in
 * what it says of its tools. It is an OAuth server too, whose tokens are the test's.
 */
export class TelltaleMcp implements AsyncDisposable {
  /** The authorization of each request to the MCP endpoint. */
  readonly seen: string[] = [];
  /** Bodies that the token endpoint got. */
  readonly exchanges: string[] = [];
  /** What the token endpoint gives next. */
  tokens: { access_token: string; refresh_token: string } | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const body = await textOf(request);
      const send = (status: number, value: object) =>
        response
          .writeHead(status, { "content-type": "application/json" })
          .end(JSON.stringify(value));
      if (request.url === "/token") {
        this.exchanges.push(body);
        if (this.tokens === undefined) send(400, { error: "invalid_grant", sent: body });
        else send(200, { ...this.tokens, token_type: "Bearer", expires_in: 3_600 });
        return;
      }
      const token = request.headers.authorization ?? "nothing";
      this.seen.push(token);
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = JSON.parse(body);
      if (message.id === undefined) return void response.writeHead(202).end();
      send(200, { jsonrpc: "2.0", id: message.id, ...answerTo(message, token) });
    });
  }

  static async start(): Promise<TelltaleMcp> {
    const server = new TelltaleMcp();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  url(path = "/mcp"): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Message {
  readonly method: string;
  readonly params?: { readonly name?: string };
}

function answerTo({ method, params }: Message, token: string): object {
  const inputSchema = { type: "object", properties: {} };
  switch (method) {
    case "initialize":
      return {
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: `telltale of ${token}`, version: "1" },
          instructions: token,
        },
      };
    case "tools/list":
      return {
        result: {
          tools: [
            { name: "tell", description: `Tells ${token}`, inputSchema },
            { name: "fail", description: "Fails", inputSchema },
          ],
        },
      };
    case "tools/call":
      if (params?.name === "fail") return { error: { code: -32_000, message: `no: ${token}` } };
      return {
        result: {
          content: [
            { type: "text", text: `You sent ${token}` },
            { type: "text", text: Buffer.from(token).toString("base64") },
            { type: "resource", resource: { uri: `memo://${token}`, text: token } },
          ],
        },
      };
    default:
      return { error: { code: -32_601, message: `no ${method} for ${token}` } };
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
