import { z } from "zod";
import { serverEvent } from "./envelope.ts";

/** What took time: model requests and evaluations of an outcome (wire §6.6). */

/** Tokens of one model request. */
export const SpanModelUsage = z.object({
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  cache_creation_input_tokens: z.number().int(),
  cache_read_input_tokens: z.number().int(),
  speed: z.enum(["standard", "fast"]).nullable().exactOptional(),
});

export const SpanModelRequestStartEvent = z.object({
  type: z.literal("span.model_request_start"),
  ...serverEvent,
});

export const SpanModelRequestEndEvent = z.object({
  type: z.literal("span.model_request_end"),
  ...serverEvent,
  model_request_start_id: z.string(),
  is_error: z.boolean().nullable(),
  model_usage: SpanModelUsage,
});

const evaluation = { outcome_id: z.string(), iteration: z.number().int() };

export const SpanOutcomeEvaluationStartEvent = z.object({
  type: z.literal("span.outcome_evaluation_start"),
  ...serverEvent,
  ...evaluation,
});

/** A heartbeat of an evaluation that goes on. */
export const SpanOutcomeEvaluationOngoingEvent = z.object({
  type: z.literal("span.outcome_evaluation_ongoing"),
  ...serverEvent,
  ...evaluation,
});

/** Results are an open set: satisfied, needs_revision, max_iterations_reached, failed, interrupted. */
export const SpanOutcomeEvaluationEndEvent = z.object({
  type: z.literal("span.outcome_evaluation_end"),
  ...serverEvent,
  ...evaluation,
  outcome_evaluation_start_id: z.string(),
  result: z.string(),
  explanation: z.string(),
  usage: SpanModelUsage,
});

export type SpanModelUsage = z.infer<typeof SpanModelUsage>;
