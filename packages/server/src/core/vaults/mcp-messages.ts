/** The version that is offered; servers answer with the one they speak. */
export const MCP_VERSION = "2025-06-18";

export interface McpRequest {
  readonly jsonrpc: "2.0";
  readonly method: string;
  /** Absent for a notification, which has no answer. */
  readonly id?: number;
  readonly params?: object;
}

/** The first requests of any client, by which a server shows whether it takes a token. */
export const INITIALIZE: McpRequest = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: MCP_VERSION,
    capabilities: {},
    clientInfo: { name: "drover", version: "1" },
  },
};
export const INITIALIZED: McpRequest = { jsonrpc: "2.0", method: "notifications/initialized" };
export const LIST_TOOLS: McpRequest = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };

export type McpAnswer =
  | { readonly type: "result"; readonly result: unknown }
  | { readonly type: "error" };

/**
 * Finds the answer to one request in a body that comes in pieces, as JSON or as an event stream, whose
 * server may leave it open. Memory and time are bounded by what it is fed.
 */
export class McpAnswerReader {
  readonly #id: number | undefined;
  readonly #decoder = new TextDecoder();
  #line = "";
  #data = "";
  #answer: McpAnswer | undefined;

  constructor(request: McpRequest) {
    this.#id = request.id;
  }

  /** True once an event of the stream was the answer. */
  feed(chunk: Uint8Array): boolean {
    const lines = (this.#line + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#take(line.replace(/\r$/, ""));
    return this.#answer !== undefined;
  }

  /** The answer in what was fed, or in the whole body as JSON; undefined if there is none. */
  answer(body: Uint8Array): McpAnswer | undefined {
    this.#take(this.#line);
    this.#take("");
    return this.#answer ?? answerIn(new TextDecoder().decode(body), this.#id);
  }

  #take(line: string): void {
    if (line.startsWith("data:")) {
      this.#data += `${line.slice(5)}\n`;
    } else if (line === "" && this.#data !== "") {
      this.#answer ??= answerIn(this.#data, this.#id);
      this.#data = "";
    }
  }
}

function answerIn(text: string, id: number | undefined): McpAnswer | undefined {
  const message = parsed(text);
  if (id === undefined || typeof message !== "object" || message === null) return undefined;
  if (!("id" in message) || message.id !== id) return undefined;
  if ("result" in message) return { type: "result", result: message.result };
  return "error" in message ? { type: "error" } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
