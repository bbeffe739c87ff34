import { z } from "zod";
import {
  McpServersParams,
  ModelConfigParams,
  SkillsParams,
  systemMax,
  ToolsParams,
} from "./agents.ts";
import { UserDefineOutcomeParams, UserMessageParams } from "./client-events.ts";
import { Id } from "./ids.ts";
import { Metadata, MetadataPatch } from "./metadata.ts";
import { Advisor, AdvisorEntry, AgentReferenceParams, Delegation } from "./multiagent.ts";
import {
  archivedQuery,
  createdRangeQuery,
  orderQuery,
  pageQuery,
  queryArray,
  queryInteger,
} from "./pagination.ts";
import { SessionResource, SessionResourceParams } from "./session-resources.ts";
import { MonetaryAmount, SessionStatus, ThreadAgent, Usage } from "./session-threads.ts";
import { text } from "./text.ts";

/** Sessions (wire §5). */

const titleMax = 2048;
const resourcesMax = 500;
const vaultIdsMax = 50;
export const initialEventsMax = 50;

export const BudgetParams = z.strictObject({
  type: z.literal("limit"),
  max_list_cost: z.strictObject({
    amount: z
      .string()
      .regex(
        /^[1-9]\d{0,14}$/,
        "must be whole minor units in decimal, more than zero and without leading zeros",
      ),
    currency: z.literal("USD"),
  }),
});
export const Budget = z.object({ type: z.literal("limit"), max_list_cost: MonetaryAmount });

/** Each field that is given replaces the agent's for this session; null or `[]` clears. */
export const AgentWithOverridesParams = z.strictObject({
  type: z.literal("agent_with_overrides"),
  id: Id,
  version: z.number().int().min(1).optional(),
  model: ModelConfigParams.nullish(),
  system: text(systemMax).nullish(),
  tools: ToolsParams.nullish(),
  mcp_servers: McpServersParams.nullish(),
  skills: SkillsParams.nullish(),
});

export const SessionCreateParams = z.strictObject({
  /** A bare id pins the agent's latest version. */
  agent: z.union([
    Id,
    z.discriminatedUnion("type", [AgentReferenceParams, AgentWithOverridesParams]),
  ]),
  environment_id: Id,
  title: text(titleMax).nullish(),
  metadata: Metadata.optional(),
  resources: z.array(SessionResourceParams).max(resourcesMax).optional(),
  vault_ids: z.array(Id).max(vaultIdsMax).optional(),
  budget: BudgetParams.nullish(),
  initial_events: z
    .array(z.discriminatedUnion("type", [UserMessageParams, UserDefineOutcomeParams]))
    .max(initialEventsMax)
    .optional(),
});

export const SessionUpdateParams = z.strictObject({
  title: text(titleMax).nullish(),
  metadata: MetadataPatch.nullish(),
  agent: z
    .strictObject({ tools: ToolsParams.optional(), mcp_servers: McpServersParams.optional() })
    .optional(),
  budget: BudgetParams.nullish(),
  /** Reserved by the contract: whatever is sent is refused. */
  vault_ids: z.array(Id).max(vaultIdsMax).optional(),
});

const SessionDelegation = z.discriminatedUnion("type", [
  Delegation.options[0].extend({ predefined_agents: z.array(ThreadAgent) }),
  Delegation.options[1],
]);
export const SessionMultiagent = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("coordinator"),
    agents: z.array(z.discriminatedUnion("type", [ThreadAgent, AdvisorEntry])),
  }),
  z.object({
    type: z.literal("multiagent_20261001"),
    advisor: Advisor,
    subagents: SessionDelegation,
    workflows: SessionDelegation,
  }),
]);

/** The agent as it was when the session was made. */
export const SessionAgent = ThreadAgent.extend({ multiagent: SessionMultiagent.nullable() });

export const OutcomeEvaluation = z.object({
  type: z.literal("outcome_evaluation"),
  outcome_id: z.string(),
  description: z.string(),
  iteration: z.number(),
  result: z.string(),
  explanation: z.string().nullable(),
  completed_at: z.string().nullable(),
});

export const Session = z.object({
  id: z.string(),
  type: z.literal("session"),
  status: SessionStatus,
  title: z.string().nullable(),
  environment_id: z.string(),
  agent: SessionAgent,
  metadata: z.record(z.string(), z.string()),
  resources: z.array(SessionResource),
  vault_ids: z.array(z.string()),
  deployment_id: z.string().nullable(),
  budget: Budget.nullable(),
  outcome_evaluations: z.array(OutcomeEvaluation),
  stats: z.object({
    active_seconds: z.number().exactOptional(),
    duration_seconds: z.number().exactOptional(),
  }),
  usage: Usage,
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const SessionDeleted = z.object({ id: z.string(), type: z.literal("session_deleted") });

export const SessionListQuery = z.strictObject({
  ...pageQuery,
  ...archivedQuery,
  ...createdRangeQuery,
  ...orderQuery,
  agent_id: Id.optional(),
  agent_version: queryInteger(1, 999_999_999).optional(),
  deployment_id: Id.optional(),
  memory_store_id: Id.optional(),
  statuses: queryArray(SessionStatus, 20).optional(),
});

export type BudgetParams = z.infer<typeof BudgetParams>;
export type Budget = z.infer<typeof Budget>;
export type AgentWithOverridesParams = z.infer<typeof AgentWithOverridesParams>;
export type SessionCreateParams = z.infer<typeof SessionCreateParams>;
export type SessionUpdateParams = z.infer<typeof SessionUpdateParams>;
export type SessionMultiagent = z.infer<typeof SessionMultiagent>;
export type SessionAgent = z.infer<typeof SessionAgent>;
export type OutcomeEvaluation = z.infer<typeof OutcomeEvaluation>;
export type Session = z.infer<typeof Session>;
export type SessionDeleted = z.infer<typeof SessionDeleted>;
export type SessionListQuery = z.infer<typeof SessionListQuery>;
