import type { Action } from "../core/harness/actions.ts";
import { type Drafting, draft } from "../core/harness/drafting.ts";
import {
  type AnyCall,
  callResult,
  egressDrafts,
  filesGoneResult,
  foreignUrlResult,
  interruptedResult,
  outOfReachResult,
  repositoryErrors,
  sandboxDrafts,
  unavailableResult,
} from "../core/harness/results.ts";
import {
  type CallOutcome,
  type HandCall,
  HandsUnavailableError,
  type OutputFile,
  type Recovered,
  type TakeOutputs,
} from "../core/ports/hands.ts";
import { calledTool, type ToolUse } from "../core/session/called-tool.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import { isSandboxTool } from "../core/sessions/workspace-at.ts";
import { isMcpToolName } from "../core/tools/mcp-names.ts";
import type { DriveDeps } from "./deps.ts";
import { isForeignUrl } from "./foreign-url.ts";
import { loggedCall, settingsOf, toolUseOf } from "./hand-call.ts";
import { leaveFiles, loseFiles, noteAnswer, placeFiles } from "./hand-files.ts";
import type { EffectContext, Settlement } from "./settlement.ts";

/** Notes which hand the call goes to, before anything is sent there. */
export async function startCall(
  { callId }: Extract<Action, { kind: "start_call" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { view, deps } = context;
  const use = toolUseOf(callId, view);
  const call = calledBy(use);
  const name = calledTool(use);
  // Between the question and the user's yes the session may have been given other tools.
  if (!isStillHad(use, context)) {
    const message = "it is not one of the session's tools any more.";
    return { drafts: (_state, drafting) => [unavailableResult(drafting, call, message)] };
  }
  if (use.type === "agent.tool_use" && (await isForeignUrl(use, context, signal))) {
    return { drafts: (_state, drafting) => [foreignUrlResult(drafting, call)] };
  }
  try {
    deps.failPoint("serve.locate.before");
    const where = await deps.hands.locate(view.session.hand_id, signal);
    deps.failPoint("serve.locate.after");
    const begun = isSandboxTool(name) ? await placeFiles(context, where) : {};
    if (begun.gone !== undefined) return { ...begun, ...answered(call, begun.gone) };
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
    return { drafts: (_state, drafting) => [unavailableResult(drafting, call, message)] };
  }
}

/** An MCP server's tools may be listed anew meanwhile; what they are called with is the agent's to say. */
function isStillHad(use: ToolUse, context: EffectContext): boolean {
  if (use.type === "agent.mcp_tool_use") return settingsOf(use, context) !== undefined;
  const { view, deps } = context;
  return deps.toolsOf(view.session).some(({ definition }) => definition.name === use.public.name);
}

function calledBy({ id, type }: ToolUse): AnyCall {
  return { id, kind: type === "agent.mcp_tool_use" ? "mcp" : "hands" };
}

/** The same of a call that is known by its name. */
function answering({ callId, name, handId }: HandCall) {
  return {
    id: callId,
    kind: isMcpToolName(name) ? ("mcp" as const) : ("hands" as const),
    name,
    handId,
  };
}

/** Has the call carried out, or waits for it where it already runs. */
export async function awaitCall(
  effect: Extract<Action, { kind: "await_call" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { deps, view } = context;
  const call = await loggedCall(effect, context);
  if (isSandboxTool(call.name)) {
    // What cannot be brought now is found out by the hands, which run nothing without it.
    const problem = await context.memoryOffers.bring(view.session, call, deps, signal);
    if (problem !== undefined) {
      const fields = { session_id: view.session.id, call_id: call.callId, problem };
      deps.log.error(fields, "memory stores were not brought to the hands");
    }
  }
  deps.failPoint("serve.execute.before");
  const { session } = context.view;
  const outcome = await deps.hands.execute(call, signal, takerOf(call, context));
  deps.failPoint("serve.execute.after");
  if (outcome.type === "files_gone") return await beginAgain(call, context);
  if (outcome.type === "out_of_reach") return await leaveBehind(call, outcome.message, context);
  if (outcome.type === "refused") {
    const fields = { session_id: session.id, call_id: call.callId, problem: outcome.message };
    deps.log.info(fields, "a call was refused by the hands");
  }
  const result = (drafting: Drafting) => callResult(drafting, answering(call), outcome);
  return await ended({ call, outcome, result }, context, signal);
}

/** A cancelled call that ended by itself a moment before keeps its real result. */
export async function cancelCall(
  effect: Extract<Action, { kind: "cancel_call" }>,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { deps } = context;
  const call = await loggedCall(effect, context);
  deps.failPoint("serve.cancel.before");
  await deps.hands.cancel(call);
  deps.failPoint("serve.cancel.after");
  const outcome = await deps.hands.execute(call, signal);
  // It was not interrupted: nobody there has heard of that.
  if (outcome.type === "out_of_reach") return await leaveBehind(call, outcome.message, context);
  const result = (drafting: Drafting) =>
    outcome.type === "result"
      ? callResult(drafting, answering(call), outcome)
      : interruptedResult(drafting, answering(call));
  return await ended({ call, outcome, result }, context, signal);
}

interface EndedCall {
  readonly call: HandCall;
  readonly outcome: CallOutcome;
  readonly result: (drafting: Drafting) => EventDraft;
}

/** Its result, and all that came along with it. */
async function ended(
  { call, outcome, result }: EndedCall,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { outputs, memory } = await leftBy(outcome, call, context, signal);
  return {
    ...noteAnswer(call, outcome),
    drafts: (_state, drafting) => [
      result(drafting),
      ...egressDrafts(drafting, call.callId, outcome),
      ...repositoryErrors(drafting, outcome),
      ...sandboxDrafts(drafting, call.callId, outcome),
    ],
    outputs,
    ...(memory !== undefined && { memory: { callId: call.callId, report: memory } }),
    committed: () => settle(call, outputs, context.deps),
  };
}

/**
 * What is to be recorded with the call's result. Of a call that is lost, its sandbox is too: what it left
 * is looked for in another one.
 */
async function leftBy(
  outcome: CallOutcome,
  call: HandCall,
  { deps }: EffectContext,
  signal: AbortSignal,
): Promise<Recovered> {
  if (!isSandboxTool(call.name)) return { outputs: [] };
  if (outcome.type === "result") return outcome;
  if (outcome.type !== "lost") return { outputs: [] };
  const { workspaceId, handId, recipe, files } = call;
  const line = files === undefined ? {} : { line: files.line };
  return await deps.hands.recover({ workspaceId, handId, recipe, ...line }, signal);
}

/**
 * Whoever takes outputs while the call runs. Other calls than those in the sandbox do not say which of the states of
 * its files the session is at: what waits of an earlier one is not taken for the session's.
 */
function takerOf(call: HandCall, { view, outputs }: EffectContext): TakeOutputs | undefined {
  if (!isSandboxTool(call.name)) return undefined;
  return (found) => outputs.take(view.session, found);
}

async function settle(
  call: HandCall,
  outputs: readonly OutputFile[],
  { hands }: DriveDeps,
): Promise<void> {
  if (outputs.length > 0) await hands.settleOutputs(call.handId, outputs);
  await hands.settle(call);
}

/** What is told of a hand whose files begin anew; with what is told nothing is sent. */
async function beginAgain(call: HandCall, context: EffectContext): Promise<Settlement> {
  const { deps } = context;
  const begun = await loseFiles(context, call);
  return {
    ...begun,
    ...answered(answering(call), begun.gone),
    committed: () => deps.hands.settle(call),
  };
}

/** What is told of a call that another machine has, which may still run there. */
async function leaveBehind(
  call: HandCall,
  message: string,
  context: EffectContext,
): Promise<Settlement> {
  const { left, ...begun } = (await leaveFiles(context, call)) ?? {};
  const text = left === undefined ? message : `${message} ${left}`;
  return {
    ...begun,
    drafts: (_state, drafting) => [outOfReachResult(drafting, answering(call), text)],
  };
}

function answered(call: AnyCall, text: string): Pick<Settlement, "drafts"> {
  return { drafts: (_state, drafting) => [filesGoneResult(drafting, call, text)] };
}
