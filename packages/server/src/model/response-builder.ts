import type {
  ModelBlock,
  ModelObserver,
  ModelOutcome,
  ModelUsage,
  UnreadableInput,
} from "../core/ports/model.ts";
import { isRecord } from "../lib/is-record.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The stream does not make sense; the connection or the server in between is at fault. */
export class StreamError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "StreamError";
  }
}

/** Characters kept of a tool input that is no JSON object. */
const UNREADABLE_LENGTH_MAX = 1_000;
/** A response that is cut while a tool is being used leaves that use incomplete. */
const CUTTING_REASONS = ["max_tokens", "model_context_window_exceeded"];
const USAGE_FIELDS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
] as const;

const CACHE_FIELDS = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"] as const;
const SERVER_TOOL_FIELDS = ["web_search_requests", "web_fetch_requests"] as const;
/** More of anything than one request can use. */
const COUNT_MAX = 1_000_000_000;

interface OpenBlock {
  readonly start: ModelBlock;
  readonly text: string[];
  readonly json: string[];
  readonly citations: unknown[];
  signature: string | undefined;
}

type FinishedResponse = Omit<Extract<ModelOutcome, { type: "response" }>, "type" | "request_id">;

/**
 * Puts a response together from its stream events, whatever their shape: a server that is not
 * Anthropic's sends what it likes. Throws `StreamError` where no sense can be made of them.
 */
export class ResponseBuilder {
  readonly #observer: ModelObserver;
  readonly #blocks = new Map<number, OpenBlock>();
  #usage: ModelUsage = {};
  #stopReason: string | null = null;
  #stopDetails: ModelBlock | null = null;
  #isComplete = false;

  constructor(observer: ModelObserver) {
    this.#observer = observer;
  }

  /** Counts told so far; cumulative, so the latest of each holds, but none goes back to zero. */
  get usage(): ModelUsage {
    return this.#usage;
  }

  take(event: unknown): void {
    const fields = record(event);
    switch (fields["type"]) {
      case "message_start":
        this.#addUsage(record(record(fields["message"])["usage"]));
        return;
      case "content_block_start":
        this.#startBlock(indexOf(fields), record(fields["content_block"]));
        return;
      case "content_block_delta":
        this.#addDelta(indexOf(fields), record(fields["delta"]));
        return;
      case "message_delta":
        this.#endMessage(record(fields["delta"]));
        this.#addUsage(record(fields["usage"]));
        return;
      case "message_stop":
        this.#isComplete = true;
        return;
      default:
        // New kinds of events may be added at any time and are to be ignored.
        return;
    }
  }

  /** The whole response. Throws if the stream ended before it was complete. */
  finish(): FinishedResponse {
    if (!this.#isComplete) throw new StreamError("The model's response ended early.");
    return {
      ...this.#finishedBlocks(),
      stop_reason: this.#stopReason,
      stop_details: this.#stopDetails,
      usage: this.#usage,
    };
  }

  #startBlock(index: number, start: Fields): void {
    const type = start["type"];
    if (typeof type !== "string") throw new StreamError("A content block has no type.");
    if (this.#blocks.has(index)) throw new StreamError(`Content block ${index} starts twice.`);
    const block = { ...start, type };
    const open = { start: block, text: [], json: [], citations: [], signature: undefined };
    this.#blocks.set(index, open);
    this.#observer.blockStarted(index, type);
    const text = start["text"];
    if (type === "text" && typeof text === "string" && text !== "") {
      this.#observer.textDelta(index, text);
    }
  }

  #addDelta(index: number, delta: Fields): void {
    const block = this.#blocks.get(index);
    if (block === undefined) throw new StreamError(`Content block ${index} was never started.`);
    switch (delta["type"]) {
      case "text_delta": {
        const text = string(delta["text"]);
        block.text.push(text);
        if (text !== "") this.#observer.textDelta(index, text);
        return;
      }
      case "thinking_delta":
        block.text.push(string(delta["thinking"]));
        return;
      case "signature_delta":
        block.signature = string(delta["signature"]);
        return;
      case "input_json_delta":
        block.json.push(string(delta["partial_json"]));
        return;
      case "citations_delta":
        block.citations.push(delta["citation"]);
        return;
      default:
        return;
    }
  }

  #endMessage(delta: Fields): void {
    const reason = delta["stop_reason"];
    if (typeof reason === "string") this.#stopReason = reason;
    const details = delta["stop_details"];
    if (isRecord(details) && typeof details["type"] === "string") {
      this.#stopDetails = { ...details, type: details["type"] };
    }
  }

  #addUsage(usage: Fields): void {
    const told = this.#usage;
    const cache = counts(record(usage["cache_creation"]), CACHE_FIELDS, told.cache_creation);
    const tools = counts(
      record(usage["server_tool_use"]),
      SERVER_TOOL_FIELDS,
      told.server_tool_use,
    );
    this.#usage = {
      ...counts(usage, USAGE_FIELDS, told),
      ...(Object.keys(cache).length > 0 && { cache_creation: cache }),
      ...(Object.keys(tools).length > 0 && { server_tool_use: tools }),
    };
    this.#observer.usageReported?.(this.#usage);
  }

  #finishedBlocks(): Pick<FinishedResponse, "blocks" | "unreadable_inputs" | "cut_call"> {
    const open = [...this.#blocks].sort(([left], [right]) => left - right);
    const wasCut = CUTTING_REASONS.includes(this.#stopReason ?? "");
    const blocks: ModelBlock[] = [];
    const unreadable: UnreadableInput[] = [];
    let cutCall: string | undefined;
    for (const [place, [, block]] of open.entries()) {
      const finished = finishedBlock(block, wasCut && place === open.length - 1);
      if (finished === "cut") {
        cutCall = string(block.start["name"]);
        continue;
      }
      if ("unreadable" in finished) {
        const text = finished.unreadable.slice(0, UNREADABLE_LENGTH_MAX).toWellFormed();
        unreadable.push({ index: blocks.length, text });
      }
      blocks.push(finished.block);
    }
    return {
      blocks,
      ...(unreadable.length > 0 && { unreadable_inputs: unreadable }),
      ...(cutCall !== undefined && { cut_call: cutCall }),
    };
  }
}

/** `cut` for a tool use that was cut off in the middle: it never was a whole block. */
type FinishedBlock = "cut" | { block: ModelBlock } | { block: ModelBlock; unreadable: string };

function finishedBlock(open: OpenBlock, isLastOfCut: boolean): FinishedBlock {
  const { start, text, citations, signature } = open;
  switch (start.type) {
    case "text": {
      const block = { ...start, text: string(start["text"]) + text.join("") };
      return { block: citations.length === 0 ? block : { ...block, citations } };
    }
    case "thinking":
      return {
        block: {
          ...start,
          thinking: string(start["thinking"]) + text.join(""),
          signature: signature ?? string(start["signature"]),
        },
      };
    case "tool_use":
    case "server_tool_use":
      return finishedToolUse(open, isLastOfCut);
    default:
      return { block: start };
  }
}

/** Some servers send the input with the block's start, also as text, instead of in deltas. */
function finishedToolUse({ start, json }: OpenBlock, isLastOfCut: boolean): FinishedBlock {
  const given = start["input"];
  const text = json.join("") || string(given);
  if (text === "") {
    return isLastOfCut ? "cut" : { block: { ...start, input: isRecord(given) ? given : {} } };
  }
  const input = parsedObject(text);
  if (input !== undefined) return { block: { ...start, input } };
  return isLastOfCut ? "cut" : { block: { ...start, input: {} }, unreadable: text };
}

function parsedObject(text: string): Fields | undefined {
  try {
    const input: unknown = JSON.parse(text);
    return isRecord(input) ? input : undefined;
  } catch {
    // What came is kept, and the model is told.
    return undefined;
  }
}

function indexOf(fields: Fields): number {
  const index = fields["index"];
  if (typeof index === "number" && Number.isSafeInteger(index) && index >= 0) return index;
  throw new StreamError("A stream event has no index.");
}

/** What was told of the fields, and what `from` tells. A zero after a count takes nothing back. */
function counts<K extends string>(
  from: Fields,
  names: readonly K[],
  told: { readonly [N in K]?: number } = {},
): { readonly [N in K]?: number } {
  const found: { [N in K]?: number } = {};
  for (const name of names) {
    const before = told[name];
    const count = from[name];
    if (isCount(count) && (count > 0 || before === undefined)) found[name] = count;
    else if (before !== undefined) found[name] = before;
  }
  return found;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= COUNT_MAX;
}

function record(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
