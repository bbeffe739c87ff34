import { unreachable } from "../errors.ts";
import { foldAccount } from "./fold-account.ts";
import { foldContext } from "./fold-context.ts";
import { foldMcp } from "./fold-mcp.ts";
import { foldRequestEvent } from "./fold-request.ts";
import { foldToolEvent } from "./fold-tools.ts";
import { foldTurnEvent } from "./fold-turn.ts";
import type { EventDraft, LogEvent } from "./log-event.ts";
import { NEW_SESSION, type SessionState, threadState, withThread } from "./state.ts";

/** The state that a log leads to. Pure; any prefix of any log is a valid argument. */
export function fold(events: readonly LogEvent[], from: SessionState = NEW_SESSION): SessionState {
  return events.reduce(foldEvent, from);
}

/** The state one committed event later. */
export function foldEvent(state: SessionState, event: LogEvent): SessionState {
  return { ...foldDraft(state, event, event.processed_at, event.seq), seq: event.seq };
}

/**
 * The state as it will be once the draft is committed. Times are those of `now` (RFC 3339), which the
 * log may still move forward: decide on it, but never keep it.
 */
export function foldDraft(
  state: SessionState,
  draft: EventDraft,
  now: string,
  seq: number = state.seq,
): SessionState {
  const before = threadState(state, draft.thread_id);
  const context = foldContext(before, draft);
  const mcp = foldMcp(before.mcp, draft, seq);
  const control = foldControl(state, draft, seq);
  const thread = { ...threadState(control, draft.thread_id), context, mcp };
  const isSame = context === before.context && mcp === before.mcp;
  const after = isSame ? control : withThread(control, draft.thread_id, thread);
  return foldAccount(after, draft, { before: state, now });
}

function foldControl(state: SessionState, draft: EventDraft, seq: number): SessionState {
  const thread = threadState(state, draft.thread_id);
  switch (draft.type) {
    case "span.model_request_start":
    case "span.model_request_end":
    case "agent.message":
    case "agent.thinking":
    case "drover.response_held":
    case "drover.calls_judged":
      return foldRequestEvent(state, thread, draft, seq);
    case "agent.tool_use":
    case "agent.tool_result":
    case "agent.mcp_tool_use":
    case "agent.mcp_tool_result":
    case "agent.custom_tool_use":
    case "user.custom_tool_result":
    case "user.tool_confirmation":
    case "drover.call_started":
      return withThread(state, draft.thread_id, foldToolEvent(thread, draft));
    case "user.message":
    case "system.message":
    case "user.interrupt":
    case "session.error":
    case "drover.retry_scheduled":
    case "session.thread_status_running":
    case "session.thread_status_rescheduled":
    case "session.thread_status_idle":
    case "session.thread_status_terminated":
      return withThread(state, draft.thread_id, foldTurnEvent(thread, draft));
    case "session.status_running":
      return { ...state, status: "running", blockedOn: null };
    case "session.status_rescheduled":
      return { ...state, status: "rescheduling" };
    case "session.status_idle": {
      const { stop_reason: reason } = draft.public;
      const blockedOn = reason.type === "requires_action" ? reason.event_ids : null;
      return { ...state, status: "idle", blockedOn };
    }
    case "session.status_terminated":
      return { ...state, status: "terminated" };
    case "user.tool_result":
    case "session.updated":
    case "session.usage":
    case "session.deleted":
    case "drover.budget_set":
    case "drover.content_withheld":
    case "drover.egress":
    case "drover.sandbox_started":
    case "drover.forked":
    case "drover.hand_passed":
    case "drover.hand_taken":
    case "agent.thread_context_compacted":
    case "drover.context_counted":
    case "drover.mcp_tools_listed":
      return state;
    default:
      return unreachable(draft);
  }
}
