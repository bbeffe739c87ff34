import { createHash, randomUUID } from "node:crypto";
import { setImmediate as nextTick, setTimeout as sleepMs } from "node:timers/promises";
import type {
  Model,
  ModelBlock,
  ModelFailureKind,
  ModelObserver,
  ModelOutcome,
  ModelRequest,
} from "../core/ports/model.ts";
import { lastUserText, scriptPosition, summaryOf, templateValues } from "./offline-history.ts";
import { offlineVerdict } from "./offline-judge.ts";
import type { ScriptStep } from "./offline-script.ts";
import { TemplateRenderer } from "./offline-template.ts";

const CHARS_PER_TOKEN = 4;
/** Tokens without a delay that are shown before others get a turn. */
const TOKENS_AT_ONCE = 64;
const MAX_COUNTED = 1_000;
const RETRYABLE: readonly ModelFailureKind[] = ["overloaded", "rate_limited", "connection"];

type Failure = Extract<ModelOutcome, { type: "failure" }>;

export interface OfflineModelOptions {
  /** Resolves after `ms`, or rejects when the signal is aborted. Real time unless given. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Models that need no key and no network: they follow a script that the conversation carries, see
 * `docs/offline-models.md`. What is due is derived from the request alone, so any process can go on;
 * only `fail` with `times` counts, in this process.
 */
export class OfflineModel implements Model {
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #attempts = new Map<string, number>();

  constructor(options: OfflineModelOptions = {}) {
    this.#sleep = options.sleep ?? ((ms, signal) => sleepMs(ms, undefined, { signal }));
  }

  async respond(
    request: ModelRequest,
    observer: ModelObserver,
    signal: AbortSignal,
  ): Promise<ModelOutcome> {
    try {
      signal.throwIfAborted();
      const { step, blocks } = this.#due(request);
      const tooLong = tooLongPrompt(request, step.windowTokens);
      if (tooLong !== undefined) return tooLong;
      await this.#pause(step.waitMs, signal);
      const failed = this.#failure(step, request);
      if (failed !== undefined) return failed;
      for (const [index, block] of blocks.entries()) {
        observer.blockStarted(index, block.type);
        await this.#show(block, step.delayMs, {
          signal,
          onText: (it) => observer.textDelta(index, it),
        });
      }
      return response(request, blocks, step.stopReason);
    } catch (error) {
      if (signal.aborted) return failure("aborted", "The request was aborted.");
      const message = error instanceof Error ? error.message : String(error);
      return failure("request_failed", message);
    }
  }

  #due(request: ModelRequest): { step: ScriptStep; blocks: readonly ModelBlock[] } {
    if (request.purpose === "compaction") return said(summaryOf(request.messages));
    const verdict = offlineVerdict(request.messages);
    if (verdict !== undefined) return said(verdict);
    const position = scriptPosition(request);
    if (position === undefined) return said(unscripted(request));
    const step = position.steps[position.step];
    if (step === undefined) return said("The script has no more steps.");
    const renderer = new TemplateRenderer(templateValues(position, request.messages));
    const { think, say, calls } = step;
    const blocks = [
      ...(think === undefined
        ? []
        : [{ type: "thinking", thinking: renderer.text(think), signature: "offline" }]),
      ...(say === undefined ? [] : [{ type: "text", text: renderer.text(say) }]),
      ...calls.map(({ tool, input }) => ({
        type: "tool_use",
        id: `toolu_offline_${randomUUID().replaceAll("-", "")}`,
        name: tool,
        input: renderer.value(input),
      })),
    ];
    return { step, blocks };
  }

  #failure(step: ScriptStep, request: ModelRequest): Failure | undefined {
    if (step.fail === undefined) return undefined;
    if (step.times !== undefined && this.#attempt(request) > step.times) return undefined;
    return failure(step.fail, `The script lets this request fail: ${step.fail}.`);
  }

  /** How often this process was asked for the response to this conversation, this time included. */
  #attempt({ model, messages }: ModelRequest): number {
    const key = createHash("sha256")
      .update(JSON.stringify([model, messages]))
      .digest("hex");
    const attempt = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.delete(key);
    this.#attempts.set(key, attempt);
    const [oldest] = this.#attempts.keys();
    if (this.#attempts.size > MAX_COUNTED && oldest !== undefined) this.#attempts.delete(oldest);
    return attempt;
  }

  /** Takes the time that the tokens of a block take, and shows those of a text. */
  async #show(
    block: ModelBlock,
    delayMs: number,
    { signal, onText }: { signal: AbortSignal; onText: (text: string) => void },
  ): Promise<void> {
    let count = 0;
    for (const token of tokensOf(contentOf(block))) {
      await this.#pause(delayMs, signal);
      count += 1;
      if (delayMs === 0 && count % TOKENS_AT_ONCE === 0) await nextTick();
      signal.throwIfAborted();
      if (block.type === "text") onText(token);
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await this.#sleep(ms, signal);
  }
}

/** In the words of the API that these models stand in for. */
function tooLongPrompt(
  request: ModelRequest,
  windowTokens: number | undefined,
): Failure | undefined {
  const tokens = promptTokens(request);
  if (windowTokens === undefined || tokens <= windowTokens) return undefined;
  const message = `prompt is too long: ${tokens} tokens > ${windowTokens} maximum`;
  return { ...failure("prompt_too_long", message), windowTokens };
}

function promptTokens({ system, messages, tools }: ModelRequest): number {
  return countTokens(JSON.stringify([system, messages, tools]));
}

function response(
  request: ModelRequest,
  blocks: readonly ModelBlock[],
  stopReason: string | undefined,
): ModelOutcome {
  const { system, messages, tools } = request;
  const usesTool = blocks.some(({ type }) => type === "tool_use");
  return {
    type: "response",
    blocks,
    stop_reason: stopReason ?? (usesTool ? "tool_use" : "end_turn"),
    ...(stopReason === "refusal" && {
      stop_details: { type: "refusal", category: null, explanation: "The script refuses." },
    }),
    usage: {
      input_tokens: countTokens(JSON.stringify([system, messages, tools])),
      output_tokens: countTokens(blocks.map(contentOf).join("")),
    },
    request_id: undefined,
  };
}

function failure(kind: ModelFailureKind, message: string): Failure {
  return { type: "failure", kind, message, retryable: RETRYABLE.includes(kind) };
}

function said(text: string): { step: ScriptStep; blocks: readonly ModelBlock[] } {
  const step: ScriptStep = {
    think: undefined,
    say: text,
    calls: [],
    fail: undefined,
    times: undefined,
    stopReason: undefined,
    windowTokens: undefined,
    delayMs: 0,
    waitMs: 0,
  };
  return { step, blocks: [{ type: "text", text }] };
}

function unscripted({ model, messages }: ModelRequest): string {
  const text = lastUserText(messages);
  if (model === "offline/echo" && text !== "") return text;
  return `I am ${model}, a model that follows scripts and works without a network. To see me work, send a message with a \`drover-script\` block: docs/offline-models.md shows how. For a model that thinks, set DROVER_MODEL_API_KEY, or DROVER_MODEL_BASE_URL for a server of your own, and make an agent with its model id.`;
}

function contentOf(block: ModelBlock): string {
  const { text, thinking, input } = block;
  if (typeof text === "string") return text;
  if (typeof thinking === "string") return thinking;
  return JSON.stringify(input ?? {});
}

function* tokensOf(text: string): Generator<string> {
  let token = "";
  for (const letter of text) {
    token += letter;
    if (token.length < CHARS_PER_TOKEN) continue;
    yield token;
    token = "";
  }
  if (token !== "") yield token;
}

function countTokens(text: string): number {
  return Math.max(1, Math.ceil(text.length / CHARS_PER_TOKEN));
}
