import { z } from "zod";
import { Id } from "./ids.ts";
import { nonEmptyText } from "./text.ts";

/** An agent's `multiagent`, as sent and in its resolved form (wire §3.1, §3.3). */

const rosterMax = 20;
const modelIdMax = 256;

export const AgentReferenceParams = z.strictObject({
  type: z.literal("agent"),
  id: Id,
  version: z.number().int().min(1).optional(),
});
export const AgentReference = z.object({
  type: z.literal("agent"),
  id: z.string(),
  version: z.number(),
});
const SelfParams = z.strictObject({ type: z.literal("self") });
const AdvisorEntryParams = z.strictObject({
  type: z.literal("advisor"),
  model: nonEmptyText(modelIdMax),
});
export const AdvisorEntry = z.object({ type: z.literal("advisor"), model: z.string() });

export const PredefinedAgentParams = z.union([
  Id,
  z.discriminatedUnion("type", [AgentReferenceParams, SelfParams]),
]);
export const RosterEntryParams = z.union([
  Id,
  z.discriminatedUnion("type", [AgentReferenceParams, SelfParams, AdvisorEntryParams]),
]);

export const CoordinatorParams = z.strictObject({
  type: z.literal("coordinator"),
  agents: z.array(RosterEntryParams).min(1).max(rosterMax),
});
export const Coordinator = z.object({
  type: z.literal("coordinator"),
  agents: z.array(z.discriminatedUnion("type", [AgentReference, AdvisorEntry])),
});

const DisabledParams = z.strictObject({ type: z.literal("disabled") });
const Disabled = z.object({ type: z.literal("disabled") });

export const AdvisorParams = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("enabled"), model: nonEmptyText(modelIdMax) }),
  DisabledParams,
]);
export const Advisor = z.discriminatedUnion("type", [
  z.object({ type: z.literal("enabled"), model: z.string() }),
  Disabled,
]);

const InlineAgentsParams = z.strictObject({ type: z.enum(["enabled", "disabled"]) });
const InlineAgents = z.discriminatedUnion("type", [
  z.object({ type: z.literal("enabled") }),
  Disabled,
]);

/** `subagents` and `workflows` have the same form. */
export const DelegationParams = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("enabled"),
    inline_agents: InlineAgentsParams.nullish(),
    predefined_agents: z.array(PredefinedAgentParams).max(rosterMax).nullish(),
  }),
  DisabledParams,
]);
export const Delegation = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("enabled"),
    inline_agents: InlineAgents,
    predefined_agents: z.array(AgentReference),
  }),
  Disabled,
]);

export const Multiagent20261001Params = z.strictObject({
  type: z.literal("multiagent_20261001"),
  advisor: AdvisorParams.nullish(),
  subagents: DelegationParams.nullish(),
  workflows: DelegationParams.nullish(),
});
export const Multiagent20261001 = z.object({
  type: z.literal("multiagent_20261001"),
  advisor: Advisor,
  subagents: Delegation,
  workflows: Delegation,
});

export const MultiagentParams = z.discriminatedUnion("type", [
  CoordinatorParams,
  Multiagent20261001Params,
]);
export const Multiagent = z.discriminatedUnion("type", [Coordinator, Multiagent20261001]);

export type AgentReferenceParams = z.infer<typeof AgentReferenceParams>;
export type AgentReference = z.infer<typeof AgentReference>;
export type AdvisorEntry = z.infer<typeof AdvisorEntry>;
export type PredefinedAgentParams = z.infer<typeof PredefinedAgentParams>;
export type RosterEntryParams = z.infer<typeof RosterEntryParams>;
export type CoordinatorParams = z.infer<typeof CoordinatorParams>;
export type Coordinator = z.infer<typeof Coordinator>;
export type AdvisorParams = z.infer<typeof AdvisorParams>;
export type Advisor = z.infer<typeof Advisor>;
export type DelegationParams = z.infer<typeof DelegationParams>;
export type Delegation = z.infer<typeof Delegation>;
export type Multiagent20261001Params = z.infer<typeof Multiagent20261001Params>;
export type Multiagent20261001 = z.infer<typeof Multiagent20261001>;
export type MultiagentParams = z.infer<typeof MultiagentParams>;
export type Multiagent = z.infer<typeof Multiagent>;
