import { z } from "zod";

/** What a session's sandboxes did over the network: beyond the contract, under `/v1/drover`. */

const Count = z.number().int().nonnegative();

/** Connections of one kind, summed up; see the documentation of the network for each field. */
export const EgressDecision = z.object({
  host: z.string(),
  port: z.number().int().nullable(),
  verdict: z.enum(["allowed", "refused", "failed"]),
  reason: z.string().nullable(),
  connections: Count,
  bytes_up: Count,
  bytes_down: Count,
  ms: Count,
});

/**
 * What was decided until the call of the tool had its result, since the one before; `tool_use_id` is null where MCP
 * servers were asked what tools they have.
 */
export const SessionEgress = z.object({
  id: z.string(),
  type: z.literal("session_egress"),
  tool_use_id: z.string().nullable(),
  processed_at: z.string(),
  decisions: z.array(EgressDecision),
});

export type SessionEgress = z.infer<typeof SessionEgress>;
