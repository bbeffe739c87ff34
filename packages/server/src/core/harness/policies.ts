import type { LookBack } from "../tools/session-events.ts";
import { WORKAROUND_NAMES, type WorkaroundName } from "./workarounds.ts";

/** The bounds of the loop, and which workarounds for weaknesses of models are switched off. */
export interface Policies {
  /** Model requests in one turn; a loop that never ends is ended with a visible error. */
  readonly roundsMax: number;
  /** Compactions in a row, without a response in between, before the turn is given up. */
  readonly compactionsMax: number;
  /** Requests for a summary that brought none, before the older part is cut off without one. */
  readonly summariesMax: number;
  /** Output tokens of a summary. */
  readonly summaryTokens: number;
  /** A compaction that frees less than this share of the prompt, and not enough, was useless. */
  readonly freedShareMin: number;
  /** Whether the model can look back at the whole session. */
  readonly lookBack: LookBack;
  /** Failed model requests in a row before the turn is given up. */
  readonly attemptsMax: number;
  /** Milliseconds before the second attempt; doubled for each further one. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** Milliseconds from the first failure in a row within which the last attempt begins. */
  readonly retryBudgetMs: number;
  /** The longest wait that an API is granted, in milliseconds; it is asked earlier than it wishes. */
  readonly retryAfterMaxMs: number;
  /** Pauses of the model in a row. */
  readonly pausesMax: number;
  /** Responses in a row that were cut off in the middle of a call, after which it is asked again. */
  readonly cutsMax: number;
  /** Responses in a row without a word, after which it is asked again. */
  readonly emptiesMax: number;
  /** Responses in a row without a call that could be read, after which it is asked again. */
  readonly unreadablesMax: number;
  /** Calls of one response that are judged under `auto`; for those beyond the user is asked. */
  readonly judgedCallsMax: number;
  /** Milliseconds for the judgement of one call. */
  readonly judgeMs: number;
  /** Output tokens of one response. */
  readonly maxTokens: number;
  /** Workarounds that are not to be used, whatever the model. */
  readonly off: ReadonlySet<WorkaroundName>;
}

export const DEFAULT_POLICIES: Policies = {
  roundsMax: 500,
  compactionsMax: 3,
  summariesMax: 3,
  summaryTokens: 8_000,
  freedShareMin: 0.1,
  lookBack: "after_compaction",
  attemptsMax: 6,
  backoffMs: 1_000,
  backoffMaxMs: 60_000,
  retryBudgetMs: 30 * 60_000,
  retryAfterMaxMs: 10 * 60_000,
  pausesMax: 20,
  cutsMax: 3,
  emptiesMax: 1,
  unreadablesMax: 5,
  judgedCallsMax: 50,
  judgeMs: 60_000,
  maxTokens: 32_000,
  off: new Set(),
};

/** The loop as it is for models without weaknesses. */
export const BARE_POLICIES: Policies = { ...DEFAULT_POLICIES, off: new Set(WORKAROUND_NAMES) };

/**
 * Milliseconds until the next attempt after failure number `failures` (1 for the first): exponential
 * with up to a quarter of jitter, and never before the API allows it, unless it asks for more than
 * it is granted. `random` is in [0, 1).
 */
export function retryDelayMs(
  policies: Policies,
  failure: { failures: number; retryAfterMs: number | undefined; random: number },
): number {
  const exponential = policies.backoffMs * 2 ** (failure.failures - 1);
  const jittered = Math.min(exponential, policies.backoffMaxMs) * (1 + failure.random / 4);
  const asked = Math.min(failure.retryAfterMs ?? 0, policies.retryAfterMaxMs);
  return Math.ceil(Math.max(jittered, asked));
}
