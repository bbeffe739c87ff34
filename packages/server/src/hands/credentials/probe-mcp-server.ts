import type { Egress, EgressOutcome } from "../../core/ports/egress.ts";
import {
  INITIALIZE,
  INITIALIZED,
  LIST_TOOLS,
  MCP_VERSION,
  type McpAnswer,
  McpAnswerReader,
  type McpRequest,
} from "../../core/vaults/mcp-messages.ts";

/** Milliseconds of one request. */
const REQUEST_MS = 10_000;
const GOODBYE_MS = 2_000;
/** A longer list of tools is one all the same. */
const ANSWER_BYTES_MAX = 256 * 1024;

/** What the MCP server did not do. */
export interface ProbeFailure {
  readonly method: string;
  readonly outcome: EgressOutcome;
}

interface Connection {
  readonly egress: Egress;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Connects to an MCP server with a token as any client does, by Streamable HTTP: `initialize`, and
 * `tools/list` where it has tools, because some servers look at the token only then. Undefined if all of
 * it was answered; else what was not.
 */
export async function probeMcpServer(
  egress: Egress,
  { url, token }: { url: string; token: string },
): Promise<ProbeFailure | undefined> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const first = await ask({ egress, url, headers }, INITIALIZE);
  if (first.answer?.type !== "result") return first;
  const { result } = first.answer;
  const session = sessionOf(first.outcome);
  const connection = {
    egress,
    url,
    headers: {
      ...headers,
      "mcp-protocol-version": versionOf(result),
      ...(session !== undefined && { "mcp-session-id": session }),
    },
  };
  try {
    return await proceed(connection, result);
  } finally {
    // Servers may keep a session for hours that nobody ends.
    if (session !== undefined) await goodbye(connection);
  }
}

async function proceed(connection: Connection, result: unknown): Promise<ProbeFailure | undefined> {
  const ready = await ask(connection, INITIALIZED);
  if (isRejection(ready.outcome)) return ready;
  if (!hasTools(result)) return undefined;
  const tools = await ask(connection, LIST_TOOLS);
  if (tools.answer?.type === "result") return undefined;
  // An error is short: what is longer than is read is a list.
  const { outcome } = tools;
  const isLong = outcome.type === "response" && outcome.body.byteLength >= ANSWER_BYTES_MAX;
  return isLong && outcome.status === 200 ? undefined : tools;
}

/** True if the server reached says that it does not take this token. */
export function isRejection(outcome: EgressOutcome): boolean {
  return outcome.type === "response" && (outcome.status === 401 || outcome.status === 403);
}

async function ask(
  { egress, url, headers }: Connection,
  request: McpRequest,
): Promise<ProbeFailure & { answer: McpAnswer | undefined }> {
  const reader = new McpAnswerReader(request);
  const outcome = await egress.send({
    method: "POST",
    url,
    headers,
    body: JSON.stringify(request),
    timeoutMs: REQUEST_MS,
    bytesMax: ANSWER_BYTES_MAX,
    isEnough: (chunk) => reader.feed(chunk),
  });
  const isOk = outcome.type === "response" && outcome.status === 200;
  return {
    method: request.method,
    outcome,
    answer: isOk ? reader.answer(outcome.body) : undefined,
  };
}

async function goodbye({ egress, url, headers }: Connection): Promise<void> {
  await egress.send({ method: "DELETE", url, headers, timeoutMs: GOODBYE_MS, bytesMax: 0 });
}

/** Goes back into a header, so it must be what one may hold. */
function sessionOf(outcome: EgressOutcome): string | undefined {
  const id = outcome.type === "response" ? outcome.headers["mcp-session-id"] : undefined;
  return id !== undefined && /^[!-~]{1,1024}$/.test(id) ? id : undefined;
}

function versionOf(result: unknown): string {
  const version = fieldOf(result, "protocolVersion");
  return typeof version === "string" && /^[\w.-]{1,64}$/.test(version) ? version : MCP_VERSION;
}

function hasTools(result: unknown): boolean {
  return fieldOf(fieldOf(result, "capabilities"), "tools") !== undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
