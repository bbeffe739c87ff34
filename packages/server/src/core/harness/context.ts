import type { MessageBlock } from "@drover/api";
import type { ModelBlock, ModelMessage } from "../ports/model.ts";
import type { EventType, LogEvent, LogEventOf, ModelOrigin } from "../session/log-event.ts";
import { merged, withSystemTurns } from "./message-order.ts";
import { noteAfter } from "./notes.ts";
import { type CallAnswer, callAnswers, resultBlock } from "./result-blocks.ts";
import { tamed } from "./tame.ts";
import { withUsableCalls } from "./usable-calls.ts";
import { withoutWithheld } from "./withheld.ts";

/** The events that a context is built from; the rest of the log is never read for it. */
export const CONTEXT_TYPES = [
  "user.message",
  "system.message",
  "agent.message",
  "agent.thinking",
  "agent.tool_use",
  "agent.tool_result",
  "agent.mcp_tool_use",
  "agent.mcp_tool_result",
  "agent.custom_tool_use",
  "user.custom_tool_result",
  "agent.thread_context_compacted",
  "drover.content_withheld",
  "drover.forked",
  "span.model_request_end",
] as const satisfies readonly EventType[];

/**
 * The messages that a model is to be sent for a log. Pure, and valid for every prefix of every log:
 * roles alternate, each tool use has an id of its own and exactly one result directly after it, a
 * response is there whole or not at all, and thinking goes back byte for byte.
 */
export function contextMessages(events: readonly LogEvent[]): readonly ModelMessage[] {
  const relevant = withoutWithheld(sinceCompaction(events));
  const messages = exchanges(relevant).flatMap(exchangeMessages);
  return withUsableCalls(withSystemTurns(merged(messages), "turn"));
}

/** The last compaction first, then what it kept and what came after it. */
function sinceCompaction(events: readonly LogEvent[]): readonly LogEvent[] {
  const last = events.findLast((event) => event.type === "agent.thread_context_compacted");
  if (last === undefined) return events;
  const { kept_from } = last.private;
  const kept = events.filter(({ seq, type }) => {
    return seq >= kept_from && type !== "agent.thread_context_compacted";
  });
  return [last, ...kept];
}

/** A model response with its results, or input of the user. */
type Exchange =
  | { kind: "input"; blocks: readonly ModelBlock[] }
  | { kind: "system"; blocks: readonly ModelBlock[] }
  | {
      kind: "response";
      response: Response;
      results: ReadonlyMap<string, CallAnswer>;
      /** What the model is told after it. */
      note: string | undefined;
    };

interface Response {
  readonly blocks: readonly ModelBlock[];
  /** Event ids of its tool uses, by the model's own ids. */
  readonly callIds: ReadonlyMap<string, string>;
}

function exchanges(events: readonly LogEvent[]): readonly Exchange[] {
  const results = callAnswers(events);
  const list: Exchange[] = [];
  let open: (ModelOrigin & { callId?: string })[] = [];
  for (const event of events) {
    switch (event.type) {
      case "user.message":
        list.push({ kind: "input", blocks: event.public.content.map(toModelBlock) });
        break;
      case "system.message":
        list.push({ kind: "system", blocks: event.public.content.map(toModelBlock) });
        break;
      case "agent.thread_context_compacted":
        list.push({
          kind: "input",
          blocks: [...event.private.summary, ...event.private.input],
        });
        list.push({ kind: "system", blocks: event.private.system ?? [] });
        break;
      case "drover.forked":
        if (event.private.note !== null) {
          list.push({ kind: "input", blocks: [{ type: "text", text: event.private.note }] });
        }
        break;
      case "agent.message":
      case "agent.thinking":
        open.push(event.private);
        break;
      case "agent.tool_use":
      case "agent.mcp_tool_use":
      case "agent.custom_tool_use":
        open.push({ ...event.private, callId: event.id });
        break;
      case "span.model_request_end":
        list.push(...closedResponse(event, open, results));
        open = [];
        break;
      default:
        break;
    }
  }
  return list;
}

/** A response counts once its end is in the log; one that was lost or cut has nothing before it. */
function closedResponse(
  end: LogEventOf<"span.model_request_end">,
  parts: readonly (ModelOrigin & { callId?: string })[],
  results: ReadonlyMap<string, CallAnswer>,
): readonly Exchange[] {
  if (end.private.outcome !== "response") return [];
  const own = parts.filter((part) => part.request === end.public.model_request_start_id);
  const blocks = own
    .flatMap((part) => part.blocks)
    .toSorted((left, right) => left.index - right.index)
    .map(({ block }) => (isSigned(block) ? block : tamed(block)));
  const callIds = new Map<string, string>();
  for (const part of own) {
    if (part.callId === undefined) continue;
    for (const { block } of part.blocks) callIds.set(String(block["id"]), part.callId);
  }
  const note = noteAfter(end.private);
  return [{ kind: "response", response: { blocks, callIds }, results, note }];
}

function exchangeMessages(exchange: Exchange): readonly ModelMessage[] {
  if (exchange.kind === "input") return [{ role: "user", content: exchange.blocks }];
  if (exchange.kind === "system") return [{ role: "system", content: exchange.blocks }];
  const blocks = withoutTrailingThinking(exchange.response.blocks);
  const answers = blocks
    .filter((block) => block.type === "tool_use")
    .map((block) => {
      const id = String(block["id"]);
      const callId = exchange.response.callIds.get(id);
      return resultBlock(id, callId === undefined ? undefined : exchange.results.get(callId));
    });
  const notes = exchange.note === undefined ? [] : [{ type: "text", text: exchange.note }];
  // What is empty goes when neighbours are merged.
  return [
    { role: "assistant", content: blocks },
    { role: "user", content: [...answers, ...notes] },
  ];
}

/** Wire content is Messages API content; only characters that JSON cannot carry are replaced. */
export function toModelBlock(block: MessageBlock): ModelBlock {
  return tamed(block);
}

function isSigned(block: ModelBlock): boolean {
  return block.type === "thinking" || block.type === "redacted_thinking";
}

/** The API takes no assistant message that ends in thinking. */
function withoutTrailingThinking(blocks: readonly ModelBlock[]): readonly ModelBlock[] {
  return blocks.slice(0, blocks.findLastIndex((block) => !isSigned(block)) + 1);
}
