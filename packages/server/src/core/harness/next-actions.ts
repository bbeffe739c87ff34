import type { InboxEvent } from "../session/log-event.ts";
import type { OpenCall, OpenRequest, SessionState, ThreadState } from "../session/state.ts";
import { isTurnOpen, threadState } from "../session/state.ts";
import type { Action, Step } from "./actions.ts";
import { compactionActions } from "./next-compaction.ts";
import { callActions } from "./open-calls.ts";
import type { Policies } from "./policies.ts";
import type { ModelLimits } from "./room.ts";

export type FindLimits = () => ModelLimits | undefined;

/**
 * The set of actions that should be in flight for the thread, decided from the log and the waiting
 * input alone. An `append` comes alone: once it is in the log, ask again. Empty means that the thread
 * waits for its user. `limitsOf` is only asked before a model request; where it knows none, no context
 * is ever compacted.
 */
export function nextActions(
  state: SessionState,
  threadId: string,
  inbox: readonly InboxEvent[],
  policies: Policies,
  limitsOf: FindLimits = () => undefined,
): readonly Action[] {
  const thread = threadState(state, threadId);
  if (state.status === "terminated" || thread.status === "terminated") return [];
  const interrupt = inbox.find((event) => event.type === "user.interrupt");
  if (interrupt !== undefined && !startsBefore(thread, inbox, interrupt)) {
    return interrupted(thread, interrupt);
  }
  if (thread.request !== null) {
    return [requestAction(thread.request)];
  }
  if (thread.calls.some((call) => !call.answered)) return callActions(state, thread);
  return turnStep(state, thread, inbox, { policies, limitsOf });
}

/** A response that is held is not asked for again: its calls are judged. */
function requestAction(request: OpenRequest): Action {
  const { id, held } = request;
  return held === null
    ? { kind: "call_model", id: `request:${id}`, request }
    : { kind: "judge_calls", id: `judge:${id}` };
}

/**
 * An idle thread takes up the messages that came before an interrupt first, so that the interrupt
 * ends them too, however quickly it followed. In a running turn the interrupt jumps the queue.
 */
function startsBefore(
  thread: ThreadState,
  inbox: readonly InboxEvent[],
  interrupt: InboxEvent,
): boolean {
  if (isTurnOpen(thread)) return false;
  return inbox.some((event) => event.type === "user.message" && event.arrival < interrupt.arrival);
}

function interrupted(thread: ThreadState, interrupt: InboxEvent): readonly Action[] {
  const open = thread.calls.filter((call) => !call.answered);
  const unsent = open.filter((call) => call.started === null).map((call) => call.id);
  if (thread.request !== null || unsent.length > 0) {
    return append({ type: "interrupt_open", callIds: unsent });
  }
  if (open.length > 0) {
    return open.flatMap((call) =>
      call.started === null ? [] : [cancelCall(call.id, call.started)],
    );
  }
  return append({ type: "interrupt", eventId: interrupt.id });
}

function turnStep(
  state: SessionState,
  thread: ThreadState,
  inbox: readonly InboxEvent[],
  { policies, limitsOf }: { policies: Policies; limitsOf: FindLimits },
): readonly Action[] {
  const hasInput = inbox.some((event) => event.type === "user.message");
  const isFailed = thread.ending?.stop_reason.type === "retries_exhausted";
  if (isFailed) return append({ type: "end_turn" });
  if (thread.retry !== null) {
    const { attempt, atMs } = thread.retry;
    return [{ kind: "wait", id: `retry:${attempt}:${atMs}`, atMs }];
  }
  if (thread.pending || hasInput) {
    if (thread.rounds >= policies.roundsMax) return append({ type: "exceed_rounds" });
    const limits = withListedTools(limitsOf(), thread);
    const compaction =
      limits === undefined ? undefined : compactionActions(thread, inbox, policies, limits);
    if (compaction !== undefined) return compaction;
    return append({ type: "ask", attempt: thread.failures + 1 });
  }
  const isOpen = isTurnOpen(thread) || state.status !== "idle" || state.blockedOn !== null;
  return isOpen ? append({ type: "end_turn" }) : [];
}

/** The definitions of MCP tools come on top of what is the same for the whole session. */
function withListedTools(
  limits: ModelLimits | undefined,
  { mcp }: ThreadState,
): ModelLimits | undefined {
  if (limits === undefined || mcp === null) return limits;
  return { ...limits, fixedTokens: limits.fixedTokens + mcp.tokens };
}

function cancelCall(callId: string, started: NonNullable<OpenCall["started"]>): Action {
  return { kind: "cancel_call", id: `cancel:${callId}`, callId, ...started };
}

function append(step: Step): readonly Action[] {
  return [{ kind: "append", id: `append:${step.type}`, step }];
}
