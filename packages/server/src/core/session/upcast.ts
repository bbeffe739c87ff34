import { type Compaction, EVENT_VERSION, type EventType, type LogEvent } from "./log-event.ts";

/** An event as it was written, by this version or an earlier one. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly thread_id: string;
  readonly cross_posted: boolean;
  readonly seq: number;
  readonly v: number;
  readonly processed_at: string;
  readonly epoch: number;
  readonly public: unknown;
  readonly private: unknown;
}

const KNOWN: Readonly<Record<EventType, true>> = {
  "user.message": true,
  "user.interrupt": true,
  "user.tool_confirmation": true,
  "user.custom_tool_result": true,
  "user.tool_result": true,
  "system.message": true,
  "agent.message": true,
  "agent.thinking": true,
  "agent.tool_use": true,
  "agent.tool_result": true,
  "agent.mcp_tool_use": true,
  "agent.mcp_tool_result": true,
  "agent.custom_tool_use": true,
  "agent.thread_context_compacted": true,
  "session.status_running": true,
  "session.status_rescheduled": true,
  "session.status_idle": true,
  "session.status_terminated": true,
  "session.thread_status_running": true,
  "session.thread_status_rescheduled": true,
  "session.thread_status_idle": true,
  "session.thread_status_terminated": true,
  "session.error": true,
  "session.updated": true,
  "session.usage": true,
  "session.deleted": true,
  "span.model_request_start": true,
  "span.model_request_end": true,
  "drover.response_held": true,
  "drover.calls_judged": true,
  "drover.mcp_tools_listed": true,
  "drover.budget_set": true,
  "drover.call_started": true,
  "drover.content_withheld": true,
  "drover.egress": true,
  "drover.sandbox_started": true,
  "drover.forked": true,
  "drover.hand_passed": true,
  "drover.hand_taken": true,
  "drover.context_counted": true,
  "drover.retry_scheduled": true,
};

/**
 * Gives an event of any earlier version the shape of this one. Throws a plain `Error` for an event
 * that a newer version wrote: to read past it would be to decide on half a history.
 */
export function upcast(stored: StoredEvent): LogEvent {
  if (isCurrent(stored)) return completed(stored);
  throw new Error(
    `event ${stored.id} (${stored.type}, version ${stored.v}) was not written by this version of Drover or an earlier one; start a newer Drover on this data`,
  );
}

/** What was written before it could be said where the kept part begins stands for all before it. */
function completed(event: LogEvent): LogEvent {
  if (event.type !== "agent.thread_context_compacted") return event;
  const given: Partial<Compaction> = event.private;
  if (given.kept_from !== undefined) return event;
  const usual = { how: "summary", input: [], tokens_before: 0, tokens_after: 0 } as const;
  return { ...event, private: { ...usual, ...event.private, kept_from: event.seq } };
}

function isCurrent(stored: StoredEvent): stored is LogEvent {
  return (
    stored.v === EVENT_VERSION &&
    Object.hasOwn(KNOWN, stored.type) &&
    typeof stored.public === "object" &&
    stored.public !== null &&
    typeof stored.private === "object" &&
    stored.private !== null
  );
}
