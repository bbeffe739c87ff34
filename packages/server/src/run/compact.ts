import {
  type CompactionCase,
  cutDrafts,
  cutOf,
  isEmptyCut,
  nothingToSummarise,
  promptMaxOf,
  summaryDrafts,
} from "../core/harness/compaction.ts";
import { contextMessages } from "../core/harness/context.ts";
import type { Drafting } from "../core/harness/drafting.ts";
import { draft } from "../core/harness/drafting.ts";
import { type FailedRequest, failureDrafts } from "../core/harness/failure.ts";
import { marked, unmarkedRequest } from "../core/harness/model-request.ts";
import { requestEnded } from "../core/harness/request-end.ts";
import { promptTokens, roomOf } from "../core/harness/room.ts";
import { messagesTokens, summaryRequest } from "../core/harness/summary-request.ts";
import type { ModelObserver, ModelOutcome, ModelRequest } from "../core/ports/model.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import { threadState } from "../core/session/state.ts";
import { failedRequest, preparedRequest } from "./prepared-request.ts";
import type { EffectContext, Settlement } from "./settlement.ts";
import { threadLimits } from "./thread-limits.ts";
import { threadDefinitions, threadTools } from "./thread-tools.ts";

/** Each summary that could not be had is asked for again of so much less. */
const TIGHTER = 1 / 2;
/** An API that counts so much less than we do has not counted. */
const ERROR_MIN = 1 / 4;
/** A count that takes longer is not waited for. */
const COUNT_MS = 15_000;
/** Nobody sees a summary being written. */
const UNSEEN: ModelObserver = { blockStarted: () => undefined, textDelta: () => undefined };

/** Asks the model for a summary of the older part of the context. */
export async function callForSummary(
  requestId: string,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { deps, reported } = context;
  const given = compactionCase(context);
  if (isEmptyCut(cutOf(given))) {
    return { drafts: (_state, drafting) => nothingToSummarise(requestId, drafting) };
  }
  deps.failPoint("serve.model.before");
  const observer: ModelObserver = {
    ...UNSEEN,
    usageReported: (usage) => reported.report(requestId, usage),
  };
  const request = await preparedRequest(requestFor(given, context), context.view.session, deps);
  const outcome = await deps.model.respond(request, observer, signal);
  deps.failPoint("serve.model.after");
  return {
    committed: async () => reported.forget(requestId),
    drafts: (state, drafting) =>
      outcome.type === "response"
        ? summaryDrafts(outcome, requestId, given, drafting)
        : failedSummaryDrafts(outcome, failedRequest(requestId, state, context), context, drafting),
  };
}

/** Leaves the older part of the context out, without asking anybody. */
export async function cutContext(context: EffectContext): Promise<Settlement> {
  const given = compactionCase(context);
  return { drafts: (_state, drafting) => cutDrafts(given, drafting) };
}

/** Asks how large the context is; not knowing is an answer too. */
export async function countContext(
  { view, deps }: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { session } = view;
  const counted = unmarkedRequest(
    session,
    view.context,
    threadDefinitions(view, deps),
    deps.policies,
  );
  const request = await preparedRequest(counted, session, deps);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
  deps.failPoint("serve.model.before");
  const tokens = (await deps.model.count?.(request, patience)) ?? null;
  deps.failPoint("serve.model.after");
  return {
    drafts: (_state, drafting) => [
      draft(drafting, "drover.context_counted", { public: {}, private: { tokens } }),
    ],
  };
}

function compactionCase({ view, deps }: EffectContext): CompactionCase {
  const { session, state } = view;
  const limits = threadLimits(session, deps);
  if (limits === undefined) throw new Error("a context is compacted that is not to be");
  const { context } = threadState(state, session.thread_id);
  const { policies } = deps;
  const canLookBack = threadTools(view, deps, true).some(({ runBy }) => runBy === "loop");
  return { events: view.context, context, limits, policies, canLookBack };
}

function requestFor(given: CompactionCase, { view, deps }: EffectContext): ModelRequest {
  const { context, limits, policies } = given;
  const { session } = view;
  const room = roomOf(policies, limits, context);
  const maxTokens = Math.min(room.output, policies.summaryTokens);
  const { dropped } = cutOf(given);
  const request = unmarkedRequest(session, dropped, threadDefinitions(view, deps), {
    ...policies,
    maxTokens,
  });
  const spare = context.overflow ? 0 : room.output - maxTokens;
  const promptMax = (promptMaxOf(given) + spare) * TIGHTER ** context.failedSummaries;
  return marked(summaryRequest(request, promptMax / estimateError(given)), policies);
}

/** How the size that an API told compares with our estimate of the same, which errs on the large side. */
function estimateError({ events, context, limits }: CompactionCase): number {
  if (context.known === 0) return 1;
  const estimated = limits.fixedTokens + messagesTokens(contextMessages(events));
  const told = promptTokens(context, limits, 0);
  return Math.min(1, Math.max(ERROR_MIN, told / estimated));
}

/** A refusal of the summary is met by a smaller request, anything else by what failures are met by. */
function failedSummaryDrafts(
  failure: Extract<ModelOutcome, { type: "failure" }>,
  request: FailedRequest,
  { deps }: EffectContext,
  drafting: Drafting,
): readonly EventDraft[] {
  const { kind, retryable, message, usage, windowTokens } = failure;
  const isRefused = !retryable && (kind === "request_failed" || kind === "prompt_too_long");
  if (!isRefused) return failureDrafts(failure, request, deps.policies, drafting);
  return [
    requestEnded(drafting, request.requestId, {
      outcome: "failed",
      reason: kind === "prompt_too_long" ? kind : "no_summary",
      message,
      ...(usage !== undefined && { usage }),
      ...(windowTokens !== undefined && { window_tokens: windowTokens }),
    }),
  ];
}
