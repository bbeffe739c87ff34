import type { Action } from "../core/harness/actions.ts";
import type { Drafting } from "../core/harness/drafting.ts";
import { failureDrafts } from "../core/harness/failure.ts";
import { heldBackDrafts } from "../core/harness/held-back.ts";
import { callsToJudge, heldDraft } from "../core/harness/held-response.ts";
import { modelRequest } from "../core/harness/model-request.ts";
import { requestEnded } from "../core/harness/request-end.ts";
import { responseDrafts } from "../core/harness/response.ts";
import { type ModelLimits, roomOf } from "../core/harness/room.ts";
import { settledOutcome } from "../core/harness/verdict.ts";
import type { ModelOutcome, ModelUsage } from "../core/ports/model.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import { threadState } from "../core/session/state.ts";
import { callForSummary } from "./compact.ts";
import { handCallOf } from "./hand-call.ts";
import { failedRequest, preparedRequest } from "./prepared-request.ts";
import { createResponsePreview } from "./preview.ts";
import type { EffectContext, Settlement } from "./settlement.ts";
import { threadLimits } from "./thread-limits.ts";
import { threadTools } from "./thread-tools.ts";

/** Asks the model for the turn's next answer, or for a summary. */
export async function callModel(
  effect: Extract<Action, { kind: "call_model" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const requestId = effect.request.id;
  if (effect.request.purpose === "compaction") {
    return await callForSummary(requestId, context, signal);
  }
  const { view, deps, reported } = context;
  const { session } = view;
  await deps.sandboxFirst?.make(session, deps, (call) => handCallOf(call, context), signal);
  const limits = threadLimits(session, deps);
  const tools = threadTools(view, deps);
  const preview = createResponsePreview({
    newId: () => deps.newId("sevt"),
    soon: setImmediate,
    publish: (shown) => {
      if (signal.aborted) return;
      const threadId = session.thread_id;
      deps.announcements.publish({ ...view.key, type: "preview", threadId, preview: shown });
    },
  });
  const definitions = tools.map(({ definition }) => definition);
  const unprepared = modelRequest(session, view.context, definitions, {
    ...deps.policies,
    ...(limits !== undefined && { maxTokens: outputTokens(limits, context) }),
  });
  const request = await preparedRequest(unprepared, session, deps);
  deps.failPoint("serve.model.before");
  const observer = {
    ...preview,
    usageReported: (usage: ModelUsage) => reported.report(requestId, usage),
  };
  const outcome = await deps.model.respond(request, observer, signal);
  preview.end();
  deps.failPoint("serve.model.after");
  return {
    committed: async () => reported.forget(requestId),
    drafts: (state, drafting) => {
      const { policies } = deps;
      const settled = settledOutcome(outcome, policies, drafting.model.id);
      if (settled.type === "failure" && settled.kind === "prompt_too_long" && limits) {
        return [tooLong(settled, requestId, drafting)];
      }
      if (settled.type === "failure") {
        const failed = failedRequest(requestId, state, context);
        return failureDrafts(settled, failed, policies, drafting);
      }
      const toolOf = (name: string) => tools.find(({ definition }) => definition.name === name);
      const heldBack = heldBackDrafts(settled.held_back ?? [], view.context, drafting);
      if (callsToJudge(settled, toolOf).size > 0) {
        return [...heldBack, heldDraft(drafting, requestId, settled, preview.idOf)];
      }
      const { goOns } = threadState(state, drafting.threadId);
      const given = { requestId, previewId: preview.idOf, toolOf, goOns, policies };
      return [...heldBack, ...responseDrafts(settled, given, drafting)];
    },
  };
}

function outputTokens(limits: ModelLimits, { view, deps }: EffectContext): number {
  const { context } = threadState(view.state, view.session.thread_id);
  return roomOf(deps.policies, limits, context).output;
}

/** No error to show: the context is compacted, and asked about again. */
function tooLong(
  { message, usage, windowTokens }: Extract<ModelOutcome, { type: "failure" }>,
  requestId: string,
  drafting: Drafting,
): EventDraft {
  return requestEnded(drafting, requestId, {
    outcome: "failed",
    reason: "prompt_too_long",
    message,
    ...(usage !== undefined && { usage }),
    ...(windowTokens !== undefined && { window_tokens: windowTokens }),
  });
}
