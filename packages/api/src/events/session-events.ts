import { z } from "zod";
import { RedactedBlock, ResultBlock, TextBlock } from "./content.ts";

/**
 * What the server appends to a session's log and shows on its stream (wire §6.4–§6.6), without the
 * envelope: `id`, `type` and `processed_at` are added by the log.
 */

/** Any event as a list or a stream shows it; what else it holds depends on its type. */
export const SessionEvent = z.looseObject({
  type: z.string(),
  /** Previews and what only a stream says have none. */
  id: z.string().optional(),
  processed_at: z.string().nullish(),
});

export const StopReason = z.discriminatedUnion("type", [
  z.object({ type: z.literal("end_turn") }),
  z.object({ type: z.literal("requires_action"), event_ids: z.array(z.string()) }),
  z.object({ type: z.literal("retries_exhausted") }),
  z.object({ type: z.literal("budget_reached") }),
  z.object({ type: z.literal("refusal") }),
]);

/** Present exactly when the stop reason is a refusal, null otherwise. */
export const StopDetails = z
  .object({
    type: z.literal("refusal"),
    category: z.string().nullable(),
    explanation: z.string().nullable(),
  })
  .nullable();

export const RetryStatus = z.object({ type: z.enum(["retrying", "exhausted", "terminal"]) });

const sessionError = { message: z.string(), retry_status: RetryStatus };
const TurnError = z.object({
  type: z.enum([
    "unknown_error",
    "model_overloaded_error",
    "model_rate_limited_error",
    "model_request_failed_error",
    "billing_error",
    "tool_use_limit_reached_error",
    "compaction_limit_reached_error",
  ]),
  ...sessionError,
});
const RepositoryError = z.object({
  type: z.literal("repository_clone_error"),
  repository_url: z.string().nullable(),
  ...sessionError,
});
export const SessionErrorObject = z.discriminatedUnion("type", [TurnError, RepositoryError]);

/** Tokens of one model request. */
export const SpanModelUsage = z.object({
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  cache_creation_input_tokens: z.number().int(),
  cache_read_input_tokens: z.number().int(),
  speed: z.enum(["standard", "fast"]).exactOptional(),
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
  list_cost: z.object({ amount: z.string(), currency: z.literal("USD") }).exactOptional(),
});

export const EvaluatedPermission = z.enum(["allow", "ask", "deny"]);

export const AgentMessage = z.object({
  content: z.array(z.discriminatedUnion("type", [TextBlock, RedactedBlock])),
});
export const AgentToolUse = z.object({
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  evaluated_permission: EvaluatedPermission.exactOptional(),
  evaluation: z.object({ type: z.enum(["always_allow", "always_ask"]) }).exactOptional(),
});
export const AgentToolResult = z.object({
  tool_use_id: z.string(),
  content: z.array(ResultBlock).exactOptional(),
  is_error: z.boolean().nullable().exactOptional(),
});
export const ThreadStatus = z.object({ session_thread_id: z.string(), agent_name: z.string() });
export const SessionStatusIdle = z.object({ stop_reason: StopReason, stop_details: StopDetails });
export const SpanModelRequestEnd = z.object({
  model_request_start_id: z.string(),
  is_error: z.boolean().nullable(),
  model_usage: SpanModelUsage,
});

export type StopReason = z.infer<typeof StopReason>;
export type StopDetails = z.infer<typeof StopDetails>;
export type RetryStatus = z.infer<typeof RetryStatus>;
export type TurnError = z.infer<typeof TurnError>;
export type SessionErrorObject = z.infer<typeof SessionErrorObject>;
export type SpanModelUsage = z.infer<typeof SpanModelUsage>;
export type SessionUsage = z.infer<typeof SessionUsage>;
export type AgentMessage = z.infer<typeof AgentMessage>;
export type AgentToolUse = z.infer<typeof AgentToolUse>;
export type AgentToolResult = z.infer<typeof AgentToolResult>;
export type ThreadStatus = z.infer<typeof ThreadStatus>;
export type SessionStatusIdle = z.infer<typeof SessionStatusIdle>;
export type SpanModelRequestEnd = z.infer<typeof SpanModelRequestEnd>;
