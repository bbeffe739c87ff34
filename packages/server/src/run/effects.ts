import { unreachable } from "../core/errors.ts";
import type { Action } from "../core/harness/actions.ts";
import type { Drafting } from "../core/harness/drafting.ts";
import { draft } from "../core/harness/drafting.ts";
import { failureDrafts } from "../core/harness/failure.ts";
import { heldBackDrafts } from "../core/harness/held-back.ts";
import { callsToJudge, heldDraft } from "../core/harness/held-response.ts";
import { modelRequest } from "../core/harness/model-request.ts";
import { requestEnded } from "../core/harness/request-end.ts";
import { responseDrafts } from "../core/harness/response.ts";
import {
  callResult,
  egressDrafts,
  filesGoneResult,
  foreignUrlResult,
  interruptedResult,
  repositoryErrors,
  sandboxDrafts,
  unavailableResult,
} from "../core/harness/results.ts";
import { type ModelLimits, roomOf } from "../core/harness/room.ts";
import { runningDrafts } from "../core/harness/steps.ts";
import { settledOutcome } from "../core/harness/verdict.ts";
import {
  type CallOutcome,
  type HandCall,
  HandsUnavailableError,
  type OutputFile,
} from "../core/ports/hands.ts";
import type { ModelOutcome, ModelUsage } from "../core/ports/model.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { EventDraft, LogEventOf } from "../core/session/log-event.ts";
import { type SessionState, threadState } from "../core/session/state.ts";
import { isSandboxTool } from "../core/sessions/workspace-at.ts";
import { callForSummary, countContext, cutContext } from "./compact.ts";
import type { DriveDeps } from "./deps.ts";
import { isForeignUrl } from "./foreign-url.ts";
import { filesOf, loseFiles, noteAnswer, placeFiles } from "./hand-files.ts";
import { judgeCalls } from "./judging.ts";
import { lookBack } from "./look-back.ts";
import type { ReportedMemory } from "./memory.ts";
import type { MemoryOffers } from "./memory-offers.ts";
import type { SessionOutputs } from "./outputs.ts";
import { failedRequest, preparedRequest } from "./prepared-request.ts";
import { createResponsePreview } from "./preview.ts";
import type { ReportedUsage } from "./reported-usage.ts";
import type { SessionView } from "./session-view.ts";
import { threadLimits } from "./thread-limits.ts";
import { threadTools } from "./thread-tools.ts";
import { wantedRepositories } from "./wanted-repositories.ts";

export type Effect = Exclude<Action, { kind: "append" }>;

/** What is to be appended for an effect that has ended. */
export interface Settlement {
  readonly drafts: (state: SessionState, drafting: Drafting) => readonly EventDraft[];
  /** Files that the call left for the user; recorded in the same transaction. */
  readonly outputs?: readonly OutputFile[];
  /** What the call changed in memory stores; stored in the same transaction. */
  readonly memory?: ReportedMemory;
  /** Written in the same transaction. */
  readonly alongside?: (tx: StoreTransaction) => Promise<void>;
  /** Run once the drafts are committed. Never rejects. */
  readonly committed?: () => Promise<void>;
}

export interface EffectContext {
  readonly view: SessionView;
  readonly epoch: number;
  readonly deps: DriveDeps;
  readonly reported: ReportedUsage;
  readonly outputs: SessionOutputs;
  readonly memoryOffers: MemoryOffers;
}

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

async function callModel(
  effect: Extract<Effect, { kind: "call_model" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const requestId = effect.request.id;
  if (effect.request.purpose === "compaction") {
    return await callForSummary(requestId, context, signal);
  }
  const { view, deps, reported } = context;
  const { session } = view;
  await deps.sandboxFirst?.make(session, deps, (call) => sandboxCall(call, context), signal);
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

async function startCall(
  { callId }: Extract<Effect, { kind: "start_call" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { view, deps } = context;
  const call = toolUseOf(callId, view);
  const { name } = call.public;
  // Between the question and the user's yes the session may have been given other tools.
  if (!deps.toolsOf(view.session).some(({ definition }) => definition.name === name)) {
    const message = "it is not one of the session's tools any more.";
    return { drafts: (_state, drafting) => [unavailableResult(drafting, callId, message)] };
  }
  if (await isForeignUrl(call, context, signal)) {
    return { drafts: (_state, drafting) => [foreignUrlResult(drafting, callId)] };
  }
  try {
    deps.failPoint("serve.locate.before");
    const where = await deps.hands.locate(view.session.hand_id, signal);
    deps.failPoint("serve.locate.after");
    const begun = isSandboxTool(name) ? await placeFiles(context, where) : {};
    if (begun.gone !== undefined) return { ...begun, ...answered(callId, begun.gone) };
    const { hand_id, hands_boot } = where;
    return {
      ...begun,
      drafts: (_state, drafting) => [
        draft(drafting, "drover.call_started", {
          public: {},
          private: { call_id: callId, hand_id, hands_boot },
        }),
      ],
    };
  } catch (error) {
    if (!(error instanceof HandsUnavailableError)) throw error;
    const { message } = error;
    return { drafts: (_state, drafting) => [unavailableResult(drafting, callId, message)] };
  }
}

async function awaitCall(
  effect: Extract<Effect, { kind: "await_call" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { deps, view } = context;
  const call = await handCall(effect, context);
  if (call.settings === undefined) {
    // What cannot be brought now is found out by the hands, which run nothing without it.
    const problem = await context.memoryOffers.bring(view.session, call, deps, signal);
    if (problem !== undefined) {
      const fields = { session_id: view.session.id, call_id: call.callId, problem };
      deps.log.error(fields, "memory stores were not brought to the hands");
    }
  }
  deps.failPoint("serve.execute.before");
  const { session } = context.view;
  const outcome = await deps.hands.execute(call, signal, (outputs) =>
    context.outputs.take(session, outputs),
  );
  deps.failPoint("serve.execute.after");
  if (outcome.type === "files_gone") return await beginAgain(call, context);
  if (outcome.type === "refused") {
    const fields = { session_id: session.id, call_id: call.callId, problem: outcome.message };
    deps.log.info(fields, "a call was refused by the hands");
  }
  const outputs = await outputsOf(outcome, call, context, signal);
  return {
    ...noteAnswer(call, outcome),
    drafts: (_state, drafting) => [
      callResult(drafting, call, outcome),
      ...egressDrafts(drafting, call.callId, outcome),
      ...repositoryErrors(drafting, outcome),
      ...sandboxDrafts(drafting, call.callId, outcome),
    ],
    outputs,
    ...changedBy(call.callId, outcome),
    committed: () => settle(call, outputs, deps),
  };
}

/** A cancelled call that ended by itself a moment before keeps its real result. */
async function cancelCall(
  effect: Extract<Effect, { kind: "cancel_call" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { deps } = context;
  const call = await handCall(effect, context);
  deps.failPoint("serve.cancel.before");
  await deps.hands.cancel(call);
  deps.failPoint("serve.cancel.after");
  const outcome = await deps.hands.execute(call, signal);
  const outputs = await outputsOf(outcome, call, context, signal);
  return {
    ...noteAnswer(call, outcome),
    drafts: (_state, drafting) => [
      outcome.type === "result"
        ? callResult(drafting, call, outcome)
        : interruptedResult(drafting, call.callId),
      ...egressDrafts(drafting, call.callId, outcome),
      ...repositoryErrors(drafting, outcome),
      ...sandboxDrafts(drafting, call.callId, outcome),
    ],
    outputs,
    ...changedBy(call.callId, outcome),
    committed: () => settle(call, outputs, deps),
  };
}

/**
 * What is to be recorded with the call's result. Of a call that is lost, its sandbox is too: what it left
 * is looked for in another one.
 */
async function outputsOf(
  outcome: CallOutcome,
  call: HandCall,
  { deps }: EffectContext,
  signal: AbortSignal,
): Promise<readonly OutputFile[]> {
  if (outcome.type === "result") return outcome.outputs;
  if (outcome.type !== "lost" || !isSandboxTool(call.name)) return [];
  return await deps.hands.collectOutputs(call, signal);
}

async function settle(
  call: HandCall,
  outputs: readonly OutputFile[],
  { hands }: DriveDeps,
): Promise<void> {
  if (outputs.length > 0) await hands.settleOutputs(call.handId, outputs);
  await hands.settle(call);
}

/** What a call changed in memory stores. */
function changedBy(callId: string, outcome: CallOutcome): Pick<Settlement, "memory"> {
  if (outcome.type !== "result" || outcome.memory === undefined) return {};
  return { memory: { callId, report: outcome.memory } };
}

/** What is told of a hand whose files begin anew; with what is told nothing is sent. */
async function beginAgain(call: HandCall, context: EffectContext): Promise<Settlement> {
  const { deps } = context;
  const begun = await loseFiles(context, call);
  return {
    ...begun,
    ...answered(call.callId, begun.gone),
    committed: () => deps.hands.settle(call),
  };
}

function answered(callId: string, text: string): Pick<Settlement, "drafts"> {
  return { drafts: (_state, drafting) => [filesGoneResult(drafting, callId, text)] };
}

async function handCall(
  call: Pick<HandCall, "callId" | "handId" | "handsBoot">,
  context: EffectContext,
): Promise<HandCall> {
  const { view, deps } = context;
  const { name, input } = toolUseOf(call.callId, view).public;
  const tool = threadTools(view, deps).find(({ definition }) => definition.name === name);
  const web = tool?.runBy === "hands" ? tool.web : undefined;
  const made = await sandboxCall({ ...call, name, input }, context);
  return web === undefined ? made : { ...made, settings: web.settings };
}

/** With the recipe as it is now: files that were added or taken out before are so for this call. */
async function sandboxCall(
  {
    callId,
    handId,
    handsBoot,
    name,
    input,
  }: Pick<HandCall, "callId" | "handId" | "handsBoot" | "name" | "input">,
  { view, deps, epoch }: EffectContext,
): Promise<HandCall> {
  const session = (await deps.store.sessions.find(view.key)) ?? view.session;
  const isInSandbox = isSandboxTool(name);
  const repositories = isInSandbox ? await wantedRepositories(session, deps.store.sessions) : [];
  const files = isInSandbox ? await filesOf(deps.store, view.key, handId) : undefined;
  return {
    ...view.key,
    callId,
    handId,
    handsBoot,
    name,
    input,
    epoch,
    recipe: session.recipe,
    ...(repositories.length > 0 && { repositories }),
    ...(files !== undefined && { files }),
  };
}

function toolUseOf(callId: string, view: SessionView): LogEventOf<"agent.tool_use"> {
  const toolUse = view.findCall(callId);
  if (toolUse === undefined) throw new Error(`call ${callId} has no tool use in its context`);
  return toolUse;
}
