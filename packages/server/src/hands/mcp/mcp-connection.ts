import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport, SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { McpError, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { isDeeperThan } from "../../lib/json-depth.ts";
import { VERSION } from "../../lib/version.ts";
import { ListedTools } from "./listed-tools.ts";
import { McpFailure, McpSessionLostError } from "./mcp-failure.ts";
import { type Operation, operations, type ServerFetch } from "./server-fetch.ts";

/** Milliseconds beyond anything that is asked for; the caller's signal ends it before. */
const FOREVER_MS = 24 * 60 * 60_000;
const GOODBYE_MS = 2_000;
/** Between the end of an answer's stream and saying that no answer came: what was read is still on its way. */
const GRACE_MS = 1_000;
const PAGES_MAX = 64;
/** Arrays and objects within each other, in what a tool gives. */
const DEPTH_MAX = 256;

/** As little as must be so: what is wrong inside concerns nothing beside it. */
const ToolsPage = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional().catch(undefined),
});
const ToolResult = z.looseObject({});
export type ToolResult = z.infer<typeof ToolResult>;

/** One session with one server, from `initialize` until it is closed or lost. All methods reject with `McpFailure`. */
export class McpConnection {
  readonly #client: Client;
  readonly #goodbye: () => Promise<void>;
  readonly #hasSession: () => boolean;
  readonly #open = new Set<OpenRequest>();
  #isLost = false;
  #hasChanged = false;

  private constructor(
    client: Client,
    transport: { goodbye: () => Promise<void>; hasSession: () => boolean },
  ) {
    this.#client = client;
    this.#goodbye = transport.goodbye;
    this.#hasSession = transport.hasSession;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#hasChanged = true;
    });
    client.onclose = () => {
      this.#isLost = true;
    };
    client.onerror = (error) => this.#wentWrong(error);
  }

  /** By Streamable HTTP, or as old servers have it: with a stream of events and an endpoint beside it. */
  static async open(
    url: string,
    newFetch: () => ServerFetch,
    signal: AbortSignal,
  ): Promise<McpConnection> {
    const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: newFetch() });
    try {
      return await McpConnection.#connect(transport, signal, {
        goodbye: () => transport.terminateSession(),
        hasSession: () => transport.sessionId !== undefined,
      });
    } catch (error) {
      if (!isOldServers(error)) throw failureOf(error);
      // What it says to an old client is no news of a server of today.
      return await McpConnection.#openOld(url, newFetch, signal).catch((late: unknown) => {
        throw failureOf(isRefusedToken(late) ? late : error);
      });
    }
  }

  static async #openOld(
    url: string,
    newFetch: () => ServerFetch,
    signal: AbortSignal,
  ): Promise<McpConnection> {
    const transport = new SSEClientTransport(new URL(url), { fetch: newFetch() });
    const nothing = { goodbye: async () => undefined, hasSession: () => false };
    return await McpConnection.#connect(transport, signal, nothing);
  }

  static async #connect(
    transport: StreamableHTTPClientTransport | SSEClientTransport,
    signal: AbortSignal,
    ways: { goodbye: () => Promise<void>; hasSession: () => boolean },
  ): Promise<McpConnection> {
    const client = new Client({ name: "drover", version: VERSION }, { capabilities: {} });
    const connection = new McpConnection(client, ways);
    try {
      // Without sampling, elicitation and roots: who asks for these is told that there is no such method.
      await connection.#operate(signal, (options) =>
        client.connect(asTransport(transport), options),
      );
      return connection;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** True once it cannot be used any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** True if the server has said since the last time that it has other tools. */
  takeChanged(): boolean {
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  /** `masked` is to go over everything before it is cut. */
  async listTools(signal: AbortSignal, masked: <T>(value: T) => T): Promise<ListedTools> {
    this.#hasChanged = false;
    const listed = new ListedTools(masked);
    if (this.#client.getServerCapabilities()?.tools === undefined) return listed;
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#ask(signal, (options) =>
        this.#client.request({ method: "tools/list", params }, ToolsPage, options),
      );
      for (const tool of page.tools) {
        if (listed.isFull) break;
        listed.take(tool);
      }
      cursor = page.nextCursor;
      if (cursor === undefined || listed.isFull) break;
    }
    if (cursor !== undefined) listed.leaveOut("", "and all after it are more than are read");
    return listed;
  }

  /** Aborting the signal tells the server to stop. */
  async callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const params = { name, arguments: { ...input } };
    const result = await this.#ask(signal, (options) =>
      this.#client.request({ method: "tools/call", params }, ToolResult, options),
    );
    if (!isDeeperThan(result, DEPTH_MAX)) return result;
    throw new McpFailure("refusal", "The tool's result is too deep to be read.", {
      isUnknown: false,
    });
  }

  /** Never rejects. */
  async close(): Promise<void> {
    const late = AbortSignal.timeout(GOODBYE_MS);
    const over = new Promise<void>((resolve) => {
      late.addEventListener("abort", () => resolve(), { once: true });
    });
    // A server keeps a session for hours that nobody ends; that it cannot be told changes nothing.
    const said = this.#isLost ? Promise.resolve() : this.#goodbye().catch(() => undefined);
    await Promise.race([said, over]);
    await this.#client.close().catch(() => undefined);
    this.#isLost = true;
  }

  async #ask<T>(signal: AbortSignal, work: (options: AskOptions) => Promise<T>): Promise<T> {
    try {
      return await this.#operate(signal, work);
    } catch (error) {
      if (this.#hasSession() && isGone(error)) {
        this.#isLost = true;
        throw new McpSessionLostError();
      }
      throw failureOf(error);
    }
  }

  async #operate<T>(signal: AbortSignal, work: (options: AskOptions) => Promise<T>): Promise<T> {
    const request = new OpenRequest();
    this.#open.add(request);
    try {
      const options: AskOptions = {
        signal,
        timeout: FOREVER_MS,
        onresumptiontoken: () => request.canResume(),
      };
      const working = operations.run(request.operation, () => work(options));
      return await Promise.race([working, request.broken]);
    } finally {
      this.#open.delete(request);
      request.close();
    }
  }

  /** The SDK tells of what concerns no request, and of streams that broke off, in the same way. */
  #wentWrong(error: Error): void {
    // Of the old transport, whose every answer comes by the stream that broke off.
    if (error instanceof SseError) {
      this.#isLost = true;
      for (const request of this.#open) request.giveUp();
    }
    if (error.message.startsWith("Maximum reconnection attempts")) {
      for (const request of this.#open) request.resumptionFailed();
    }
  }
}

interface AskOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
  readonly onresumptiontoken: (token: string) => void;
}

/** A request that waits for its answer, which the SDK would wait for even where it cannot come any more. */
class OpenRequest {
  readonly #over = new AbortController();
  readonly #broken = Promise.withResolvers<never>();
  #canResume = false;
  #timer: NodeJS.Timeout | undefined;
  readonly operation: Operation = {
    signal: this.#over.signal,
    onEnd: () => this.#ended(),
  };

  constructor() {
    // It is told also where nobody asks any more.
    this.#broken.promise.catch(() => undefined);
  }

  /** Rejects when no answer can come. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** The server has given the stream a name, by which the rest of it can be asked for. */
  canResume(): void {
    this.#canResume = true;
  }

  resumptionFailed(): void {
    if (this.#canResume) this.giveUp();
  }

  giveUp(): void {
    this.#broken.reject(brokenOff("no answer came"));
  }

  /** Nobody waits any more: what the server still sends is not read. */
  close(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  #ended(): void {
    if (this.#canResume || this.#over.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      if (!this.#canResume) this.giveUp();
    }, GRACE_MS);
  }
}

/** What came of a request that was not answered as it should have been. */
function failureOf(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof StreamableHTTPError) return statusFailure(error.code ?? 0, error.message);
  if (error instanceof SseError) return statusFailure(error.code ?? 0, error.message);
  // The server's own words for what it refuses.
  if (error instanceof McpError) {
    return new McpFailure("refusal", `The server refused it: ${error.message}`, {
      isUnknown: false,
    });
  }
  return brokenOff(error instanceof Error ? error.message : String(error));
}

function statusFailure(status: number, message: string): McpFailure {
  const isRefusal = status >= 400 && status < 500;
  const text = status > 0 ? `The server answered with status ${status}.` : `${message}.`;
  return new McpFailure("connection", text, { isUnknown: !isRefusal });
}

function brokenOff(why: string): McpFailure {
  const message = `The connection to the server broke off: ${why}.`;
  return new McpFailure("connection", message, { isUnknown: true });
}

/** As the specification tells an old server by: it does not take what begins a session of today. */
function isOldServers(error: unknown): boolean {
  if (!(error instanceof StreamableHTTPError)) return false;
  const status = error.code ?? 0;
  return status >= 400 && status < 500;
}

function isRefusedToken(error: unknown): boolean {
  return error instanceof McpFailure && error.kind === "authentication";
}

/** The specification's 404, and the 400 that some servers give instead: the request was not taken. */
function isGone(error: unknown): boolean {
  return error instanceof StreamableHTTPError && (error.code === 404 || error.code === 400);
}

/** The SDK's classes are not quite what its own interface says: a session's id may be there and undefined. */
function asTransport(transport: StreamableHTTPClientTransport | SSEClientTransport): Transport {
  return transport as Transport;
}
