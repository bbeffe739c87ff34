import { CONTEXT_TYPES } from "../harness/context.ts";
import type { McpListing } from "../ports/mcp-servers.ts";
import type { ModelBlock, ModelUsage } from "../ports/model.ts";
import type { EventType, LogEvent, LogEventOf } from "../session/log-event.ts";

/** A request that a model has answered, with what it was asked and what it said. */
export interface RecordedRequest {
  /** Id of its `span.model_request_start`. */
  readonly id: string;
  readonly seq: number;
  readonly model: string;
  /** The events that its context was built from. */
  readonly context: readonly LogEvent[];
  /** What MCP servers had then; undefined before they were asked. */
  readonly listing: McpListing | undefined;
  readonly blocks: readonly ModelBlock[];
  readonly stopReason: string | null;
  readonly usage: ModelUsage | undefined;
  readonly latencyMs: number;
}

/** The events that tell of requests; the rest of a log is not needed to find them. */
export const REQUEST_TYPES: readonly EventType[] = [
  ...CONTEXT_TYPES,
  "span.model_request_start",
  "drover.mcp_tools_listed",
];

/**
 * Goes through a thread's log and gives each request that got a response: those that were lost, failed or
 * interrupted have nothing to compare with.
 */
export class RequestFinder {
  #context: LogEvent[] = [];
  #open: { start: LogEventOf<"span.model_request_start">; context: LogEvent[] } | undefined;
  #parts: LogEvent[] = [];
  #listing: McpListing | undefined;

  /** The request that ends with this event, if one does. Events come in their order. */
  take(event: LogEvent): RecordedRequest | undefined {
    if (event.type === "drover.mcp_tools_listed") {
      this.#listing = event.private;
      return undefined;
    }
    if (event.type === "span.model_request_start") {
      this.#open = { start: event, context: [...this.#context] };
      this.#parts = [];
      return undefined;
    }
    if (event.type === "agent.thread_context_compacted") {
      const { kept_from } = event.private;
      this.#context = this.#context.filter(({ seq }) => seq >= kept_from);
    }
    this.#context.push(event);
    this.#parts.push(event);
    return event.type === "span.model_request_end" ? this.#ended(event) : undefined;
  }

  #ended(end: LogEventOf<"span.model_request_end">): RecordedRequest | undefined {
    const open = this.#open;
    const { outcome, stop_reason, usage, blocks = [] } = end.private;
    if (open === undefined || open.start.id !== end.public.model_request_start_id) return undefined;
    this.#open = undefined;
    // A summary is asked for by the loop, and no part of the conversation.
    if (outcome !== "response" || open.start.private.purpose === "compaction") return undefined;
    const parts = this.#parts.flatMap((event) => blocksOf(event, open.start.id));
    return {
      id: open.start.id,
      seq: open.start.seq,
      model: open.start.private.model,
      context: open.context,
      listing: this.#listing,
      blocks: [...parts, ...blocks]
        .toSorted((left, right) => left.index - right.index)
        .map(({ block }) => block),
      stopReason: stop_reason ?? null,
      usage,
      latencyMs: Math.max(0, Date.parse(end.processed_at) - Date.parse(open.start.processed_at)),
    };
  }
}

function blocksOf(event: LogEvent, requestId: string) {
  switch (event.type) {
    case "agent.message":
    case "agent.thinking":
    case "agent.tool_use":
    case "agent.mcp_tool_use":
    case "agent.custom_tool_use":
      return event.private.request === requestId ? event.private.blocks : [];
    default:
      return [];
  }
}
