import { unreachable } from "../core/errors.ts";
import type { Action } from "../core/harness/actions.ts";
import { runningDrafts } from "../core/harness/steps.ts";
import { callModel } from "./call-model.ts";
import { awaitCall, cancelCall, startCall } from "./call-tool.ts";
import { countContext, cutContext } from "./compact.ts";
import { judgeCalls } from "./judging.ts";
import { listTools } from "./list-tools.ts";
import { lookBack } from "./look-back.ts";
import type { EffectContext, Settlement } from "./settlement.ts";

export type Effect = Exclude<Action, { kind: "append" }>;

/**
 * Does one thing in the world and tells what to append for it. Failures of the world are settlements;
 * a rejection is a bug, and ends the turn.
 */
export async function perform(
  effect: Effect,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  switch (effect.kind) {
    case "call_model":
      return await callModel(effect, context, signal);
    case "judge_calls":
      return await judgeCalls(context, signal);
    case "list_tools":
      return await listTools(context, signal);
    case "count_context":
      return await countContext(context, signal);
    case "cut_context":
      return await cutContext(context);
    case "look_back":
      return await lookBack(effect.callId, context, signal);
    case "start_call":
      return await startCall(effect, context, signal);
    case "await_call":
      return await awaitCall(effect, context, signal);
    case "cancel_call":
      return await cancelCall(effect, context, signal);
    case "wait":
      await context.deps.clock.sleepUntil(effect.atMs, signal);
      return { drafts: runningDrafts };
    default:
      return unreachable(effect);
  }
}
