import type {
  Agent,
  AgentDefinition,
  AgentWithOverridesParams,
  Delegation,
  Multiagent,
  SessionAgent,
  SessionMultiagent,
  SessionUpdateParams,
} from "@drover/api";
import { InvalidRequestError } from "../errors.ts";
import { checked, resolvedModel, resolvedSkills } from "./definition.ts";
import { assertSkillsReadable } from "./skill-rules.ts";
import { resolvedTools } from "./tools.ts";

/** What a session runs: an agent's version, with the session's own changes applied. */
export type EffectiveAgent = Omit<AgentDefinition, "metadata"> & Pick<Agent, "id" | "version">;

/**
 * The agent with the overrides of one session (wire §5.2): what is left out is inherited, null or `[]`
 * clears, the rest is replaced and never merged. An effort in an override is not applied.
 */
export function overriddenAgent(
  agent: Agent,
  overrides?: AgentWithOverridesParams,
): EffectiveAgent {
  const { metadata: _, type: _type, created_at, updated_at, archived_at, ...own } = agent;
  if (overrides === undefined) return own;
  const effective = checked<EffectiveAgent>({ ...own, ...replaced(overrides) });
  assertSkillsReadable(effective);
  return effective;
}

/** The agent of a session, for another one that is made from it, with overrides as a new session has them. */
export function forkedSessionAgent(current: SessionAgent, overrides: Overrides): SessionAgent {
  const forked = checked<SessionAgent>({ ...current, ...replaced(overrides) });
  assertSkillsReadable(forked);
  return forked;
}

type Overrides = Omit<AgentWithOverridesParams, "type" | "id" | "version">;

function replaced({ model, system, tools, mcp_servers, skills }: Overrides) {
  if (model === null) {
    throw new InvalidRequestError("agent.model: a session cannot be without a model", {
      code: "agent_model_required",
    });
  }
  return {
    ...(model === undefined ? {} : { model: resolvedModel(withoutEffort(model), undefined) }),
    ...(system === undefined ? {} : { system: system === "" ? null : system }),
    ...(tools === undefined ? {} : { tools: resolvedTools(tools ?? []) }),
    ...(mcp_servers === undefined ? {} : { mcp_servers: mcp_servers ?? [] }),
    ...(skills === undefined ? {} : { skills: resolvedSkills(skills ?? []) }),
  };
}

/**
 * The snapshot that a session keeps. Agents it could delegate to must have been refused before.
 * Rejects skills that no tool of the agent could read.
 */
export function sessionAgent(agent: EffectiveAgent): SessionAgent {
  assertSkillsReadable(agent);
  return { type: "agent", ...agent, multiagent: snapshotOf(agent.multiagent) };
}

/**
 * The snapshot after `sessions.update`: tools and MCP servers are replaced where given. Rejects tools
 * without which the session's skills cannot be read.
 */
export function updatedSessionAgent(
  current: SessionAgent,
  update: NonNullable<SessionUpdateParams["agent"]>,
): SessionAgent {
  const { tools, mcp_servers } = update;
  const updated = checked<SessionAgent>({
    ...current,
    ...(tools === undefined ? {} : { tools: resolvedTools(tools) }),
    ...(mcp_servers === undefined ? {} : { mcp_servers }),
  });
  assertSkillsReadable(updated);
  return updated;
}

/** True if `multiagent` lets the agent delegate or ask an advisor. */
export function delegates(multiagent: Multiagent | SessionMultiagent | null): boolean {
  if (multiagent === null) return false;
  if (multiagent.type === "coordinator") return true;
  const { advisor, subagents, workflows } = multiagent;
  return [advisor, subagents, workflows].some((part) => part.type === "enabled");
}

function snapshotOf(multiagent: Multiagent | null): SessionMultiagent | null {
  if (multiagent === null) return null;
  if (multiagent.type === "coordinator") throw new Error("a coordinator cannot be snapshot yet");
  const { type, advisor, subagents, workflows } = multiagent;
  return { type, advisor, subagents: disabled(subagents), workflows: disabled(workflows) };
}

function disabled(delegation: Delegation): Extract<Delegation, { type: "disabled" }> {
  if (delegation.type === "enabled") throw new Error("delegation cannot be snapshot yet");
  return delegation;
}

function withoutEffort(model: NonNullable<AgentWithOverridesParams["model"]>) {
  return typeof model === "string" ? model : { ...model, effort: null };
}
