import { z } from "zod";
import { MonetaryAmount } from "../session-threads.ts";
import { Budget, SessionAgent } from "../sessions.ts";
import { serverEvent } from "./envelope.ts";
import { SessionErrorObject } from "./session-errors.ts";

/** What happens to a session and its threads (wire §6.5). */

export const StopReason = z.discriminatedUnion("type", [
  z.object({ type: z.literal("end_turn") }),
  z.object({ type: z.literal("requires_action"), event_ids: z.array(z.string()) }),
  z.object({ type: z.literal("retries_exhausted") }),
  z.object({ type: z.literal("budget_reached") }),
  z.object({ type: z.literal("refusal") }),
]);

/**
 * Present exactly when the stop reason is a refusal, null otherwise. The category is the model's: one
 * that the contract does not know yet is passed on.
 */
export const StopDetails = z
  .object({
    type: z.literal("refusal"),
    category: z.string().nullable(),
    explanation: z.string().nullable(),
  })
  .nullable();

const stopped = { stop_reason: StopReason, stop_details: StopDetails };
const ofThread = { session_thread_id: z.string(), agent_name: z.string() };

export const SessionStatusRunningEvent = z.object({
  type: z.literal("session.status_running"),
  ...serverEvent,
});
export const SessionStatusRescheduledEvent = z.object({
  type: z.literal("session.status_rescheduled"),
  ...serverEvent,
});
export const SessionStatusIdleEvent = z.object({
  type: z.literal("session.status_idle"),
  ...serverEvent,
  ...stopped,
});
export const SessionStatusTerminatedEvent = z.object({
  type: z.literal("session.status_terminated"),
  ...serverEvent,
});

/** On the parent's stream. */
export const SessionThreadCreatedEvent = z.object({
  type: z.literal("session.thread_created"),
  ...serverEvent,
  ...ofThread,
  workflow_run_id: z.string().nullable(),
});
export const SessionThreadStatusRunningEvent = z.object({
  type: z.literal("session.thread_status_running"),
  ...serverEvent,
  ...ofThread,
});
export const SessionThreadStatusRescheduledEvent = z.object({
  type: z.literal("session.thread_status_rescheduled"),
  ...serverEvent,
  ...ofThread,
});
export const SessionThreadStatusIdleEvent = z.object({
  type: z.literal("session.thread_status_idle"),
  ...serverEvent,
  ...ofThread,
  ...stopped,
});
export const SessionThreadStatusTerminatedEvent = z.object({
  type: z.literal("session.thread_status_terminated"),
  ...serverEvent,
  ...ofThread,
});

export const SessionErrorEvent = z.object({
  type: z.literal("session.error"),
  ...serverEvent,
  error: SessionErrorObject,
});

/** Holds what changed, and nothing else; a metadata bag that was cleared is left out. */
export const SessionUpdatedEvent = z.object({
  type: z.literal("session.updated"),
  ...serverEvent,
  agent: SessionAgent.nullable().exactOptional(),
  budget: Budget.nullable().exactOptional(),
  metadata: z.record(z.string(), z.string()).exactOptional(),
  title: z.string().nullable().exactOptional(),
});

/** Cumulative usage of a session or thread; a figure that was never reported is absent. */
export const SessionUsage = z.object({
  input_tokens: z.number().int().exactOptional(),
  output_tokens: z.number().int().exactOptional(),
  cache_read_input_tokens: z.number().int().exactOptional(),
  cache_creation: z
    .object({
      ephemeral_5m_input_tokens: z.number().int().exactOptional(),
      ephemeral_1h_input_tokens: z.number().int().exactOptional(),
    })
    .exactOptional(),
  active_seconds: z.number().exactOptional(),
  list_cost: MonetaryAmount.exactOptional(),
  server_tool_use: z
    .object({
      web_search_requests: z.number().int().exactOptional(),
      web_fetch_requests: z.number().int().exactOptional(),
    })
    .exactOptional(),
});

export const SessionUsageEvent = z.object({
  type: z.literal("session.usage"),
  ...serverEvent,
  usage: SessionUsage,
  budget: Budget.nullable().exactOptional(),
});

/** The last one: the stream ends with it. */
export const SessionDeletedEvent = z.object({ type: z.literal("session.deleted"), ...serverEvent });

export type StopReason = z.infer<typeof StopReason>;
export type StopDetails = z.infer<typeof StopDetails>;
export type SessionUsage = z.infer<typeof SessionUsage>;
