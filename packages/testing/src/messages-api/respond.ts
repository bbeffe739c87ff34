import { randomBytes } from "node:crypto";
import type { CacheUse } from "./prompt-cache.ts";
import type { Signer } from "./signature.ts";
import { tokensOf } from "./tokens.ts";
import type { Answer, AnswerBlock, Json, JsonObject } from "./types.ts";

const DEFAULT_CHUNK_CHARS = 24;
const MADE_ID = "toolu_double_";

/** A block as the API sends it: ids and signatures filled in. */
type SentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: JsonObject;
      readonly inputJson: string;
    };

export interface Reply {
  readonly id: string;
  readonly model: string;
  readonly blocks: readonly SentBlock[];
  readonly stopReason: string | null;
  readonly stopSequence: string | null;
  readonly stopDetails: JsonObject | null;
  readonly startUsage: JsonObject;
  readonly endUsage: JsonObject;
  readonly chunkChars: number;
}

export interface ReplyContext {
  readonly model: string;
  readonly cacheUse: CacheUse;
  readonly signer: Signer;
}

export function makeReply(answer: Answer, context: ReplyContext): Reply {
  const blocks = marked(
    (answer.content ?? []).map((block) => sent(block, context.signer)),
    context.signer,
  );
  const usesTool = blocks.some(({ type }) => type === "tool_use");
  const usage = countUsage(blocks, context.cacheUse, answer.usage ?? {});
  return {
    id: `msg_${token()}`,
    model: context.model,
    blocks,
    stopReason:
      answer.stop_reason === undefined ? (usesTool ? "tool_use" : "end_turn") : answer.stop_reason,
    stopSequence: answer.stop_sequence ?? null,
    stopDetails: answer.stop_details ?? null,
    startUsage: usage.start,
    endUsage: usage.end,
    chunkChars: answer.pacing?.chunkChars ?? DEFAULT_CHUNK_CHARS,
  };
}

/** The whole message, for a request that does not stream. */
export function messageOf(reply: Reply): JsonObject {
  return {
    ...shell(reply),
    content: reply.blocks.map(wholeBlock),
    stop_reason: reply.stopReason,
    stop_sequence: reply.stopSequence,
    stop_details: reply.stopDetails,
    usage: { ...reply.startUsage, ...reply.endUsage },
  };
}

export interface StreamEvent {
  readonly type: string;
  readonly data: JsonObject;
}

/** The events of a stream in the order of the real API: a ping after the first block has started. */
export function* eventsOf(reply: Reply): Generator<StreamEvent> {
  yield event("message_start", {
    message: {
      ...shell(reply),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: reply.startUsage,
    },
  });
  for (const [index, block] of reply.blocks.entries()) {
    yield event("content_block_start", { index, content_block: startOf(block) });
    if (index === 0) yield event("ping", {});
    for (const delta of deltasOf(block, reply.chunkChars)) {
      yield event("content_block_delta", { index, delta });
    }
    yield event("content_block_stop", { index });
  }
  const details = { stop_details: reply.stopDetails, stop_sequence: reply.stopSequence };
  const delta = { container: null, stop_reason: reply.stopReason, ...details };
  yield event("message_delta", { delta, usage: reply.endUsage });
  yield event("message_stop", {});
}

export function token(): string {
  return `01${randomBytes(11).toString("hex")}`;
}

function event(type: string, fields: JsonObject): StreamEvent {
  return { type, data: { type, ...fields } };
}

function shell({ id, model }: Reply): JsonObject {
  return { id, type: "message", role: "assistant", model, container: null, diagnostics: null };
}

function sent(block: AnswerBlock, signer: Signer): SentBlock {
  switch (block.type) {
    case "text":
      return block;
    case "thinking":
      return { ...block, signature: block.signature ?? signer.sign(block.thinking) };
    case "redacted_thinking":
      return { ...block, data: block.data ?? signer.redact(token()) };
    case "tool_use": {
      const inputJson = block.inputJson ?? JSON.stringify(block.input);
      return { ...block, id: block.id ?? `${MADE_ID}${token()}`, inputJson };
    }
  }
}

/**
 * The ids of tool uses tell what was thought in the same response, so that a harness that leaves
 * thinking out is found out as well: see the rule `thinking-kept`.
 */
function marked(blocks: readonly SentBlock[], signer: Signer): readonly SentBlock[] {
  const thought = blocks.flatMap((block) => {
    if (block.type === "thinking") return [block.thinking];
    return block.type === "redacted_thinking" ? [block.data] : [];
  });
  if (thought.length === 0) return blocks;
  const mark = signer.mark(thought);
  return blocks.map((block) =>
    block.type === "tool_use" && block.id.startsWith(MADE_ID)
      ? { ...block, id: `${block.id}_t${mark}` }
      : block,
  );
}

function wholeBlock(block: SentBlock): JsonObject {
  if (block.type === "text") return { ...block, citations: null };
  if (block.type !== "tool_use") return { ...block };
  const { type, id, name, input } = block;
  return { type, id, name, input, caller: { type: "direct" } };
}

function startOf(block: SentBlock): JsonObject {
  switch (block.type) {
    case "text":
      return { type: "text", text: "", citations: null };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return { ...block };
    case "tool_use": {
      const { type, id, name } = block;
      return { type, id, name, input: {}, caller: { type: "direct" } };
    }
  }
}

function* deltasOf(block: SentBlock, size: number): Generator<JsonObject> {
  switch (block.type) {
    case "text":
      for (const text of chunks(block.text, size)) yield { type: "text_delta", text };
      return;
    case "thinking":
      for (const thinking of chunks(block.thinking, size)) {
        yield { type: "thinking_delta", thinking };
      }
      yield { type: "signature_delta", signature: block.signature };
      return;
    case "redacted_thinking":
      return;
    case "tool_use":
      yield { type: "input_json_delta", partial_json: "" };
      for (const partial_json of chunks(block.inputJson, size)) {
        yield { type: "input_json_delta", partial_json };
      }
  }
}

function* chunks(text: string, size: number): Generator<string> {
  for (let start = 0; start < text.length; start += size) yield text.slice(start, start + size);
}

function countUsage(
  blocks: readonly SentBlock[],
  { input: input_tokens, read, created }: CacheUse,
  overrides: Readonly<Record<string, Json>>,
) {
  let outputTokens = 1;
  for (const block of blocks) {
    if (block.type === "text") outputTokens += tokensOf(block.text);
    else if (block.type === "thinking") outputTokens += tokensOf(block.thinking);
    else if (block.type === "tool_use") outputTokens += tokensOf(block.inputJson);
  }
  const input = {
    input_tokens,
    cache_creation_input_tokens: created["5m"] + created["1h"],
    cache_read_input_tokens: read,
  };
  const start = {
    ...input,
    cache_creation: {
      ephemeral_5m_input_tokens: created["5m"],
      ephemeral_1h_input_tokens: created["1h"],
    },
    output_tokens: 1,
    service_tier: "standard",
    inference_geo: null,
  };
  return {
    start: laid(start, { ...overrides, output_tokens: 1 }),
    end: laid({ ...input, output_tokens: outputTokens }, overrides),
  };
}

/** `over` laid over `base`; what is null in `over` is left out. */
function laid(base: JsonObject, over: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...base, ...over }).filter(([name]) => over[name] !== null),
  );
}
