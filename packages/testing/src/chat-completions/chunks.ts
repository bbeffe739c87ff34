import { tokensOf } from "../messages-api/tokens.ts";
import type { Answer, AnswerBlock, ToolUseBlock } from "../messages-api/types.ts";
import type { Chunk, Flavour, JsonObject } from "./types.ts";

const CHUNK_CHARS = 24;

export interface ChunkContext {
  readonly id: string;
  readonly model: string;
  readonly promptTokens: number;
  /** `stream_options.include_usage`. */
  readonly isUsageAsked: boolean;
  readonly newId: () => string;
}

/** A response as the chunks of its stream. */
export function* chunksOf(
  answer: Answer,
  flavour: Flavour,
  context: ChunkContext,
): Generator<Chunk> {
  const { content = [] } = answer;
  const usage = usageOf(answer, context);
  const chunk = (delta: JsonObject, finish: string | null = null): Chunk => ({
    id: context.id,
    object: "chat.completion.chunk",
    created: 1,
    model: context.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(flavour.usage === "every_chunk" && { usage }),
  });
  yield chunk({ role: "assistant", content: flavour.blanks ? "" : null });
  const chars = answer.pacing?.chunkChars ?? CHUNK_CHARS;
  let calls = 0;
  for (const block of content) {
    const deltas =
      block.type === "tool_use"
        ? callDeltas(block, calls++, { flavour, context, chars })
        : saidDeltas(block, flavour, chars);
    for (const delta of deltas) {
      yield chunk({ ...(flavour.blanks && { content: null }), ...delta });
    }
  }
  const finish = finishReason(answer, flavour, calls > 0);
  if (finish !== null) yield chunk(flavour.blanks ? { content: "" } : {}, finish);
  const isTold = flavour.usage === "always" || (flavour.usage === "asked" && context.isUsageAsked);
  if (isTold) yield { ...chunk({}), choices: [], usage };
}

/** The same as one body. */
export function wholeBody(answer: Answer, flavour: Flavour, context: ChunkContext): JsonObject {
  const { content = [] } = answer;
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  const thoughts = content.flatMap((it) => (it.type === "thinking" ? [it.thinking] : [])).join("");
  const uses = content.filter((block) => block.type === "tool_use");
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    ...(thoughts !== "" && { reasoning_content: thoughts }),
    ...(uses.length > 0 && {
      tool_calls: uses.map((use) => ({
        id: use.id ?? context.newId(),
        type: "function",
        function: { name: use.name, arguments: argumentsOf(use) },
      })),
    }),
  };
  const finish_reason = finishReason(answer, flavour, uses.length > 0);
  return {
    id: context.id,
    object: "chat.completion",
    created: 1,
    model: context.model,
    choices: [{ index: 0, message, finish_reason }],
    usage: usageOf(answer, context),
  };
}

function* saidDeltas(
  block: Exclude<AnswerBlock, ToolUseBlock>,
  flavour: Flavour,
  chars: number,
): Generator<JsonObject> {
  if (block.type === "redacted_thinking") return;
  for (const piece of pieces(block.type === "text" ? block.text : block.thinking, chars)) {
    yield block.type === "text" ? { content: piece } : thinkingDelta(piece, flavour);
  }
}

function thinkingDelta(piece: string, { thinking }: Flavour): JsonObject {
  switch (thinking) {
    case "reasoning_content":
      return { reasoning_content: piece };
    case "reasoning":
      return { reasoning: piece };
    case "both":
      return { reasoning: piece, reasoning_content: piece };
    default:
      return { content: [{ type: "thinking", thinking: [{ type: "text", text: piece }] }] };
  }
}

function* callDeltas(
  use: ToolUseBlock,
  count: number,
  { flavour, context, chars }: { flavour: Flavour; context: ChunkContext; chars: number },
): Generator<JsonObject> {
  const { name } = use;
  const id = flavour.ids ? { id: use.id ?? context.newId(), type: "function" } : {};
  const index = flavour.indexes === "none" ? {} : { index: flavour.indexes === "zero" ? 0 : count };
  const delta = (rest: JsonObject): JsonObject => ({ tool_calls: [{ ...index, ...rest }] });
  const whole = argumentsOf(use);
  if (flavour.calls === "whole") {
    yield delta({ ...id, function: { name, arguments: whole } });
    return;
  }
  if (flavour.calls === "object") {
    const input = use.inputJson ?? use.input;
    yield delta({ ...id, function: { name, arguments: input } });
    return;
  }
  const isRepeated = flavour.calls === "repeated";
  yield delta({ ...id, function: { name, arguments: "" } });
  for (const piece of pieces(whole, chars)) {
    yield delta({
      ...(isRepeated && id),
      function: { ...(isRepeated && { name }), arguments: piece },
    });
  }
}

const FINISH: Readonly<Record<string, string>> = {
  end_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  refusal: "content_filter",
};

function finishReason(answer: Answer, { finish }: Flavour, hasCalls: boolean): string | null {
  const reason = answer.stop_reason === undefined ? undefined : answer.stop_reason;
  if (finish === "none" || reason === null) return null;
  const usual =
    reason === undefined ? (hasCalls ? "tool_calls" : "stop") : (FINISH[reason] ?? reason);
  if (usual === "length" || usual === "content_filter") return usual;
  if (finish === "always_stop") return "stop";
  return finish === "unknown" ? "eos_token" : usual;
}

function usageOf({ content = [], usage = {} }: Answer, context: ChunkContext): JsonObject {
  const said = content.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "tool_use") return block.name + argumentsOf(block);
    return block.type === "thinking" ? block.thinking : "";
  });
  const completion = tokensOf(said.join(""));
  const counted: JsonObject = {
    prompt_tokens: context.promptTokens,
    completion_tokens: completion,
    total_tokens: context.promptTokens + completion,
    ...usage,
  };
  return Object.fromEntries(Object.entries(counted).filter(([, count]) => count !== null));
}

function argumentsOf({ input, inputJson }: ToolUseBlock): string {
  return inputJson ?? JSON.stringify(input);
}

/** By characters, not by halves of them. */
function pieces(text: string, chars: number): readonly string[] {
  const all = [...text];
  return Array.from({ length: Math.ceil(all.length / chars) }, (_, at) =>
    all.slice(at * chars, (at + 1) * chars).join(""),
  );
}
