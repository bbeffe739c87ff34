import { BudgetParams, EgressDecision, SandboxLimitFacts } from "@drover/api";
import { z } from "zod";
import type { EventType } from "./log-event.ts";

/**
 * What an event that comes from elsewhere must have in its `private` part, so that folding the log and
 * building a context from it cannot fail. Fields that are not named here are kept as they are.
 */

const Block = z.looseObject({ type: z.string() });
const TextBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
const Blocks = z.array(z.object({ index: z.number().int().min(0), block: Block }));
const Origin = z.looseObject({ request: z.string(), blocks: Blocks });
const Count = z.number().min(0).optional();
const Open = z.looseObject({});

const Picodollars = z.string().regex(/^\d{1,40}$/, "must be picodollars in decimal");

const Usage = z.looseObject({
  input_tokens: Count,
  output_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  cache_creation: z
    .looseObject({ ephemeral_5m_input_tokens: Count, ephemeral_1h_input_tokens: Count })
    .optional(),
});

const RequestEnd = z.looseObject({
  outcome: z.enum(["response", "failed", "interrupted", "lost"]),
  stop_reason: z.string().nullish(),
  go_on: z.enum(["paused", "cut_call", "empty", "unreadable_calls"]).optional(),
  cut_call: z.string().optional(),
  refusal: Open.optional(),
  usage: Usage.optional(),
  cost: Picodollars.optional(),
  window_tokens: z.number().min(0).optional(),
  held_back: z.array(z.string()).optional(),
  blocks: Blocks.optional(),
});

const Time = z.iso.datetime({ precision: 3 });

const Result = z.looseObject({
  reason: z.string(),
  used: z
    .looseObject({ web_search_requests: Count, web_fetch_requests: Count, cost: Picodollars })
    .optional(),
  tools_changed: z.literal(true).optional(),
});

const PRIVATE: { readonly [T in EventType]: z.ZodType } = {
  "agent.message": Origin,
  "agent.thinking": Origin,
  "agent.tool_use": Origin.extend({ run_by: z.literal("loop").optional() }),
  "agent.tool_result": Result,
  "agent.mcp_tool_use": Origin.extend({ tool: z.string() }),
  "agent.mcp_tool_result": Result,
  "drover.mcp_tools_listed": z.looseObject({
    servers: z.array(
      z.looseObject({
        name: z.string(),
        tools: z.array(
          z.looseObject({
            name: z.string(),
            description: z.string(),
            input_schema: z.looseObject({ type: z.literal("object") }),
          }),
        ),
        error: z
          .looseObject({ type: z.enum(["connection", "authentication"]), message: z.string() })
          .optional(),
      }),
    ),
  }),
  "agent.thread_context_compacted": z.looseObject({
    summary: z.array(Block),
    input: z.array(Block),
    system: z.array(TextBlock).optional(),
    kept_from: z.number().int().min(0),
    tokens_before: z.number().min(0),
    tokens_after: z.number().min(0),
  }),
  "session.status_running": z.looseObject({ hour_price: Picodollars.optional() }),
  "span.model_request_start": z.looseObject({
    model: z.string(),
    attempt: z.number().int().min(1),
    purpose: z.literal("compaction").optional(),
  }),
  "span.model_request_end": RequestEnd,
  "drover.response_held": z.looseObject({
    request: z.string(),
    response: z.looseObject({
      type: z.literal("response"),
      blocks: z.array(Block),
      stop_reason: z.string().nullable(),
      usage: Usage,
    }),
    preview_ids: z.array(z.string().nullable()),
  }),
  "drover.calls_judged": z.looseObject({
    request: z.string(),
    model: z.string(),
    opinions: z.array(
      z.looseObject({
        index: z.number().int().min(0),
        judgement: Open,
        reason: z.string(),
        usage: Usage.optional(),
        cost: Picodollars.optional(),
      }),
    ),
  }),
  "drover.budget_set": z.looseObject({ budget: BudgetParams }),
  "drover.call_started": z.looseObject({
    call_id: z.string(),
    hand_id: z.string(),
    hands_boot: z.string(),
  }),
  "drover.egress": z.looseObject({
    call_id: z.string().nullable(),
    records: z.array(EgressDecision),
  }),
  "drover.sandbox_started": z.looseObject({
    call_id: z.string(),
    facts: z.looseObject({
      provider: z.string(),
      mode: z.enum(["root", "rootless"]),
      limits: SandboxLimitFacts,
    }),
  }),
  "drover.hand_passed": z.looseObject({
    hand_id: z.string(),
    to: z.string(),
    new_hand_id: z.string(),
  }),
  "drover.hand_taken": z.looseObject({ hand_id: z.string(), from: z.string() }),
  "drover.forked": z.looseObject({
    session_id: z.string(),
    event_id: z.string().nullable(),
    until: Time.nullable(),
    note: z.string().nullable(),
  }),
  "drover.content_withheld": z.looseObject({
    event_id: z.string(),
    places: z.array(z.number().int().min(0)),
    message: z.string(),
  }),
  "drover.context_counted": z.looseObject({ tokens: z.number().min(0).nullable() }),
  "drover.retry_scheduled": z.looseObject({
    attempt: z.number().int().min(1),
    at_ms: z.number().int().min(0),
    since_ms: z.number().int().min(0).optional(),
  }),
  "agent.custom_tool_use": Origin,
  "user.message": Open,
  "user.interrupt": Open,
  "user.tool_confirmation": Open,
  "user.custom_tool_result": Open,
  "user.tool_result": Open,
  "system.message": Open,
  "session.status_rescheduled": Open,
  "session.status_idle": Open,
  "session.status_terminated": Open,
  "session.thread_status_running": Open,
  "session.thread_status_rescheduled": Open,
  "session.thread_status_idle": Open,
  "session.thread_status_terminated": Open,
  "session.error": Open,
  "session.updated": Open,
  "session.usage": Open,
  "session.deleted": Open,
};

/** What the contract's own schema leaves open of what is folded. */
const PUBLIC: { readonly [T in EventType]?: z.ZodType } = {
  "session.updated": z.looseObject({ budget: BudgetParams.nullish() }),
};

/** The schema of what the public part must have beyond the contract's. */
export function publicPart(type: EventType): z.ZodType {
  return PUBLIC[type] ?? Open;
}

/** The schema of the private part of an event of this type. */
export function privatePart(type: EventType): z.ZodType {
  return PRIVATE[type];
}
