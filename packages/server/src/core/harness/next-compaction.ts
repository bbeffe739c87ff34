import type { InboxEvent } from "../session/log-event.ts";
import type { ThreadState } from "../session/state.ts";
import { blocksTokens } from "../session/token-estimate.ts";
import type { Action } from "./actions.ts";
import type { Policies } from "./policies.ts";
import { type ModelLimits, promptTokens, roomOf } from "./room.ts";

/**
 * What comes before the next model request because it would not fit; undefined if it would. First the
 * waiting input is taken up, so that all of it is in the log; then, where only an estimate says so,
 * somebody is asked to count; then the older part is summarised, or cut off if that cannot be had.
 */
export function compactionActions(
  thread: ThreadState,
  inbox: readonly InboxEvent[],
  policies: Policies,
  limits: ModelLimits,
): readonly Action[] | undefined {
  const { context } = thread;
  const waiting = inbox.reduce((sum, event) => sum + inputTokens(event), 0);
  const { prompt } = roomOf(policies, limits, context);
  const fits = promptTokens(context, limits, waiting) <= prompt;
  if (fits && !context.overflow) return undefined;
  if (waiting > 0) return [{ kind: "append", id: "append:take_up", step: { type: "take_up" } }];
  if (!context.overflow && context.counted !== "yes") {
    if (limits.canCount && context.counted === "no") {
      const id = `count:${context.from}:${context.known}:${context.added}`;
      return [{ kind: "count_context", id }];
    }
    // Nobody has counted, and there has just been a compaction: then the model itself is to say.
    if (context.compactions > 0) return undefined;
  }
  return compaction(thread, policies);
}

function compaction(thread: ThreadState, policies: Policies): readonly Action[] {
  const { compactions, failedSummaries, mustCut, from } = thread.context;
  if (compactions >= policies.compactionsMax) {
    return [
      { kind: "append", id: "append:exceed_compactions", step: { type: "exceed_compactions" } },
    ];
  }
  if (mustCut || failedSummaries >= policies.summariesMax) {
    return [{ kind: "cut_context", id: `cut:${from}:${compactions}` }];
  }
  const attempt = thread.failures + 1;
  return [{ kind: "append", id: "append:ask_summary", step: { type: "ask_summary", attempt } }];
}

function inputTokens(event: InboxEvent): number {
  return event.type === "user.interrupt" ? 0 : blocksTokens(event.public.content);
}
