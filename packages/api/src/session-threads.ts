import { z } from "zod";
import { agentBehaviour } from "./agents.ts";
import { AdvisorEntry } from "./multiagent.ts";
import { pageQuery, queryArray } from "./pagination.ts";

/** Threads of a session (wire §5.7), and the measures that sessions and threads share. */

export const SessionStatus = z.enum(["idle", "running", "rescheduling", "terminated"]);

/** Whole minor units as decimal text: `"2500"` is 25 dollars. */
export const MonetaryAmount = z.object({
  amount: z.string().regex(/^(?:0|[1-9]\d{0,29})$/, "must be whole minor units in decimal"),
  currency: z.literal("USD"),
});

const Count = z.number().exactOptional();

/** Cumulative; a figure that was never reported is absent. */
export const Usage = z.object({
  input_tokens: Count,
  output_tokens: Count,
  cache_read_input_tokens: Count,
  cache_creation: z
    .object({ ephemeral_5m_input_tokens: Count, ephemeral_1h_input_tokens: Count })
    .exactOptional(),
  active_seconds: Count,
  list_cost: MonetaryAmount.nullable().exactOptional(),
  server_tool_use: z
    .object({ web_search_requests: Count, web_fetch_requests: Count })
    .nullable()
    .exactOptional(),
});

/** An agent within a session: a snapshot that later versions do not touch. */
export const ThreadAgent = z.object({
  id: z.string(),
  type: z.literal("agent"),
  version: z.number(),
  ...agentBehaviour,
});
export const InlineAgent = z.object({ type: z.literal("inline"), ...agentBehaviour });

export const SessionThread = z.object({
  id: z.string(),
  type: z.literal("session_thread"),
  session_id: z.string(),
  /** Null for the primary thread, which exists from creation. */
  parent_thread_id: z.string().nullable(),
  workflow_run_id: z.string().nullable(),
  agent: z.discriminatedUnion("type", [ThreadAgent, AdvisorEntry, InlineAgent]),
  status: SessionStatus,
  stats: z
    .object({ active_seconds: Count, duration_seconds: Count, startup_seconds: Count })
    .nullable(),
  usage: Usage.nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const ThreadListQuery = z.strictObject({
  ...pageQuery,
  statuses: queryArray(SessionStatus, 20).optional(),
});

export type SessionStatus = z.infer<typeof SessionStatus>;
export type MonetaryAmount = z.infer<typeof MonetaryAmount>;
export type Usage = z.infer<typeof Usage>;
export type ThreadAgent = z.infer<typeof ThreadAgent>;
export type InlineAgent = z.infer<typeof InlineAgent>;
export type SessionThread = z.infer<typeof SessionThread>;
export type ThreadListQuery = z.infer<typeof ThreadListQuery>;
