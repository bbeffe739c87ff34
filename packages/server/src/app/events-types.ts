import type { EventType } from "../core/session/log-event.ts";

/** What `types[]` of the event list takes: every persisted type of the contract but `session.deleted`. */
const LISTED_TYPES: ReadonlySet<string> = new Set([
  "user.message",
  "user.interrupt",
  "user.tool_confirmation",
  "user.custom_tool_result",
  "user.tool_result",
  "user.define_outcome",
  "system.message",
  "agent.message",
  "agent.thinking",
  "agent.tool_use",
  "agent.tool_result",
  "agent.mcp_tool_use",
  "agent.mcp_tool_result",
  "agent.custom_tool_use",
  "agent.thread_message_sent",
  "agent.thread_message_received",
  "agent.thread_context_compacted",
  "session.status_running",
  "session.status_idle",
  "session.status_rescheduled",
  "session.status_terminated",
  "session.thread_created",
  "session.thread_status_running",
  "session.thread_status_idle",
  "session.thread_status_rescheduled",
  "session.thread_status_terminated",
  "session.error",
  "session.updated",
  "session.usage",
  "span.model_request_start",
  "span.model_request_end",
  "span.outcome_evaluation_start",
  "span.outcome_evaluation_ongoing",
  "span.outcome_evaluation_end",
  "workflow_run.created",
  "workflow_run.status_running",
  "workflow_run.status_idle",
  "workflow_run.status_ended",
  "workflow_run.error",
  "workflow_run.phase_started",
  "workflow_run.phase_ended",
]);

/** Types of the contract that no event of this version has match nothing, and are no error. */
export function isListedType(type: string): type is EventType {
  return LISTED_TYPES.has(type);
}
