import type { ContextState } from "../session/context-state.ts";
import type { Policies } from "./policies.ts";

/** What a thread's model takes, as far as it is known before it is asked. */
export interface ModelLimits {
  /** Tokens of prompt and response together; undefined if nobody has said. */
  readonly windowTokens: number | undefined;
  /** The most that it writes in one response. Tokens. */
  readonly outputTokens: number | undefined;
  /** Whether somebody can be asked to count. */
  readonly canCount: boolean;
  /** Estimate of what stands before the messages: system prompt and tools. Tokens. */
  readonly fixedTokens: number;
}

/** Taken for the window of a model that is not known, until it refuses a prompt. Tokens. */
const USUAL_WINDOW = 200_000;
/** A response never has more than this share of the window. */
const OUTPUT_SHARE_MAX = 1 / 4;
/** Kept free of everything, for what estimates miss. */
const RESERVE_SHARE = 1 / 20;

/** How the window of a model is shared out. Tokens. */
export interface Room {
  /** `max_tokens` of a request. */
  readonly output: number;
  /** The most that a prompt may have. */
  readonly prompt: number;
}

export function roomOf(policies: Policies, limits: ModelLimits, context: ContextState): Room {
  const window = context.window ?? limits.windowTokens ?? USUAL_WINDOW;
  const output = Math.max(
    1,
    Math.min(
      policies.maxTokens,
      limits.outputTokens ?? Infinity,
      Math.floor(window * OUTPUT_SHARE_MAX),
    ),
  );
  return { output, prompt: Math.floor(window * (1 - RESERVE_SHARE)) - output };
}

/** What the prompt of the next request comes to, rather too much, with `waiting` more in its messages. */
export function promptTokens(context: ContextState, limits: ModelLimits, waiting: number): number {
  const fixed = context.known === 0 ? limits.fixedTokens : 0;
  return context.known + context.added + fixed + waiting;
}
