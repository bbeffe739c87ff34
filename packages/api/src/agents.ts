import { z } from "zod";
import { Tool, ToolParams, toolsMax } from "./agent-tools.ts";
import { Metadata, MetadataPatch } from "./metadata.ts";
import { Multiagent, MultiagentParams } from "./multiagent.ts";
import { archivedQuery, createdWithinQuery, pageQuery, queryInteger } from "./pagination.ts";
import { nonEmptyText, text } from "./text.ts";

/** Agents (wire §3). `…Params` is what a client sends, the bare noun what it reads. */

export const nameMax = 256;
export const descriptionMax = 2048;
export const systemMax = 100_000;
const mcpServersMax = 20;
const skillsMax = 20;
const modelIdMax = 256;
const versionMax = 999_999_999;

export const EffortLevel = z.enum(["low", "medium", "high", "xhigh", "max"]);
const Effort = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("low") }),
  z.strictObject({ type: z.literal("medium") }),
  z.strictObject({ type: z.literal("high") }),
  z.strictObject({ type: z.literal("xhigh") }),
  z.strictObject({ type: z.literal("max") }),
]);
const Speed = z.enum(["standard", "fast"]);

export const ModelConfigParams = z.union([
  nonEmptyText(modelIdMax),
  z.strictObject({
    id: nonEmptyText(modelIdMax),
    effort: z.union([EffortLevel, Effort]).nullish(),
    inference_geo: nonEmptyText(64).nullish(),
    speed: Speed.nullish(),
  }),
]);
export const ModelConfig = z.object({
  id: z.string(),
  effort: Effort.exactOptional(),
  inference_geo: z.string().exactOptional(),
  speed: Speed.exactOptional(),
});

export const ExecutionIdentityParams = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("service_account") }),
  z.strictObject({ type: z.literal("aws_role"), role_arn: nonEmptyText(2048) }),
]);
export const ExecutionIdentity = z.discriminatedUnion("type", [
  z.object({ type: z.literal("service_account") }),
  z.object({ type: z.literal("aws_role"), role_arn: z.string() }),
]);

export const McpServerParams = z.strictObject({
  type: z.literal("url"),
  name: nonEmptyText(255),
  url: nonEmptyText(2048).refine(isWebUrl, "must be an http or https URL"),
});
/** The pattern says more than `URL`, which would drop blanks and mend slashes. */
function isWebUrl(url: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(url) && z.url().safeParse(url).success;
}

export const McpServer = z.object({ type: z.literal("url"), name: z.string(), url: z.string() });

const skillParams = { skill_id: nonEmptyText(128), version: nonEmptyText(128).nullish() };
export const AgentSkillParams = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("anthropic"), ...skillParams }),
  z.strictObject({ type: z.literal("custom"), ...skillParams }),
]);
const skill = { skill_id: z.string(), version: z.string() };
/** A skill's version that an agent has. */
export const AgentSkill = z.discriminatedUnion("type", [
  z.object({ type: z.literal("anthropic"), ...skill }),
  z.object({ type: z.literal("custom"), ...skill }),
]);

export const ToolsParams = z.array(ToolParams).max(toolsMax);
export const McpServersParams = z.array(McpServerParams).max(mcpServersMax);
export const SkillsParams = z.array(AgentSkillParams).max(skillsMax);

export const AgentCreateParams = z.strictObject({
  name: nonEmptyText(nameMax),
  model: ModelConfigParams,
  description: text(descriptionMax).nullish(),
  system: text(systemMax).nullish(),
  execution_identity: ExecutionIdentityParams.nullish(),
  tools: ToolsParams.optional(),
  mcp_servers: McpServersParams.optional(),
  skills: SkillsParams.optional(),
  multiagent: MultiagentParams.nullish(),
  metadata: Metadata.optional(),
});

export const AgentUpdateParams = z.strictObject({
  name: nonEmptyText(nameMax).optional(),
  model: ModelConfigParams.optional(),
  description: text(descriptionMax).nullish(),
  system: text(systemMax).nullish(),
  execution_identity: ExecutionIdentityParams.nullish(),
  tools: ToolsParams.nullish(),
  mcp_servers: McpServersParams.nullish(),
  skills: SkillsParams.nullish(),
  multiagent: MultiagentParams.nullish(),
  metadata: MetadataPatch.nullish(),
  version: z.number().int().min(1).max(versionMax).optional(),
});

/** What a thread runs: everything of an agent that changes what it does, without its sub-agents. */
export const agentBehaviour = {
  name: z.string(),
  description: z.string().nullable(),
  system: z.string().nullable(),
  model: ModelConfig,
  tools: z.array(Tool),
  mcp_servers: z.array(McpServer),
  skills: z.array(AgentSkill),
  execution_identity: ExecutionIdentity,
};

/** What one version of an agent consists of, in the resolved form: the part that is stored as such. */
export const AgentDefinition = z.object({
  ...agentBehaviour,
  multiagent: Multiagent.nullable(),
  metadata: z.record(z.string(), z.string()),
});

export const Agent = AgentDefinition.extend({
  id: z.string(),
  type: z.literal("agent"),
  version: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const AgentListQuery = z.strictObject({
  ...pageQuery,
  ...archivedQuery,
  ...createdWithinQuery,
});
export const AgentRetrieveQuery = z.strictObject({
  version: queryInteger(1, versionMax).optional(),
});

export type EffortLevel = z.infer<typeof EffortLevel>;
export type ModelConfigParams = z.infer<typeof ModelConfigParams>;
export type ModelConfig = z.infer<typeof ModelConfig>;
export type ExecutionIdentityParams = z.infer<typeof ExecutionIdentityParams>;
export type ExecutionIdentity = z.infer<typeof ExecutionIdentity>;
export type McpServerParams = z.infer<typeof McpServerParams>;
export type McpServer = z.infer<typeof McpServer>;
export type AgentSkillParams = z.infer<typeof AgentSkillParams>;
export type AgentSkill = z.infer<typeof AgentSkill>;
export type AgentCreateParams = z.infer<typeof AgentCreateParams>;
export type AgentUpdateParams = z.infer<typeof AgentUpdateParams>;
export type AgentDefinition = z.infer<typeof AgentDefinition>;
export type Agent = z.infer<typeof Agent>;
export type AgentListQuery = z.infer<typeof AgentListQuery>;
export type AgentRetrieveQuery = z.infer<typeof AgentRetrieveQuery>;
