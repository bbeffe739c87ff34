import {
  type Agent,
  type AgentCreateParams,
  AgentDefinition as AgentParts,
  type AgentSkillParams,
  type AgentUpdateParams,
  type DelegationParams,
  type MultiagentParams,
  type RosterEntryParams,
} from "@drover/api";
import { newDefinition, updatedDefinition } from "../../core/agents/definition.ts";
import {
  agentReferences,
  type ReferencedAgent,
  type Roster,
} from "../../core/agents/multiagent.ts";
import { DefinitionError } from "./definition-error.ts";
import type { AgentDefinition, NameUse } from "./definitions.ts";
import type { ServerState } from "./server-state.ts";

/** What the definitions of the files are on the server, by name: as planned, or as they have become. */
export interface Known {
  readonly agents: Map<string, ReferencedAgent>;
  readonly skills: Map<string, { readonly id: string; readonly version: string }>;
}

export interface AgentRequest {
  readonly create: AgentCreateParams;
  /** Undefined for an agent that is to be made. Leaves nothing as it is that the file does not say. */
  readonly update: AgentUpdateParams | undefined;
  /** What the agent is then. */
  readonly result: AgentParts;
}

/**
 * What is to be sent so that the agent is what its file says. Throws `DefinitionError` for names that
 * mean nothing or several things, and what the API throws for a definition that contradicts itself.
 */
export async function agentRequest(
  definition: AgentDefinition,
  existing: Agent | undefined,
  { known, state }: { known: Known; state: ServerState },
): Promise<AgentRequest> {
  const { name, params, names } = definition;
  const referenced = new Map<string, ReferencedAgent>();
  const agentOf = async (entry: string): Promise<RosterEntryParams> => {
    const use = names.get(entry);
    if (use?.name === name) return { type: "self" };
    const agent = use && (await agentNamed(use, { known, state }));
    if (agent === undefined) return use?.name ?? entry;
    const { id, version } = agent;
    referenced.set(keyOf(id, version), agent);
    return { type: "agent", id, version };
  };
  const create: AgentCreateParams = {
    ...params,
    ...(params.skills && { skills: await pinnedSkills(definition, { known, state }) }),
    ...(params.multiagent && { multiagent: await withAgents(params.multiagent, agentOf) }),
  };
  for (const { id, version } of agentReferences(create.multiagent)) {
    if (referenced.has(keyOf(id, version))) continue;
    const agent = await state.agent(id, version);
    if (agent !== undefined) referenced.set(keyOf(id, version), referencedAgent(agent));
  }
  const self = { id: existing?.id ?? newId("agent", name), version: existing?.version ?? 1, name };
  const roster: Roster = { self, find: (id, version) => referenced.get(keyOf(id, version)) };
  if (existing === undefined) {
    return { create, update: undefined, result: newDefinition(create, roster) };
  }
  const update = wholeUpdate(existing, create);
  const result = updatedDefinition(AgentParts.parse(existing), update, roster);
  return { create, update, result };
}

/** Stands for the id of what is only planned. */
export function newId(kind: "agent" | "skill", name: string): string {
  return `(new ${kind} ${name})`;
}

/** As somebody's roster sees it. */
export function referencedAgent({
  id,
  name,
  version,
  archived_at,
  multiagent,
}: Agent): ReferencedAgent {
  return {
    id,
    name,
    version,
    isArchived: archived_at !== null,
    hasMultiagent: multiagent !== null,
  };
}

/** Undefined for what is no name but looks like an id. */
async function agentNamed(
  { name, path }: NameUse,
  { known, state }: { known: Known; state: ServerState },
): Promise<ReferencedAgent | undefined> {
  const own = known.agents.get(name);
  if (own !== undefined) return own;
  const [agent, ...others] = await state.agentsNamed(name);
  if (agent === undefined && name.startsWith("agent_")) return undefined;
  if (agent === undefined) {
    throw new DefinitionError(path, `there is no agent named ${JSON.stringify(name)}`);
  }
  if (others.length > 0) throw ambiguous("agents", name, [agent, ...others], path);
  return referencedAgent(agent);
}

async function pinnedSkills(
  { params, names }: AgentDefinition,
  { known, state }: { known: Known; state: ServerState },
): Promise<AgentSkillParams[]> {
  const pinned: AgentSkillParams[] = [];
  for (const [index, skill] of (params.skills ?? []).entries()) {
    const use = names.get(skill.skill_id);
    if (use !== undefined) {
      const { id, version } = await skillNamed(use, { known, state });
      pinned.push({ type: "custom", skill_id: id, version });
    } else if (skill.version === undefined || skill.version === null) {
      const version = await state.latestVersionId(skill.skill_id);
      if (version === undefined) {
        throw new DefinitionError(["skills", index], `there is no skill ${skill.skill_id}`);
      }
      pinned.push({ ...skill, version });
    } else pinned.push(skill);
  }
  return pinned;
}

async function skillNamed(
  { name, path }: NameUse,
  { known, state }: { known: Known; state: ServerState },
): Promise<{ id: string; version: string }> {
  const own = known.skills.get(name);
  if (own !== undefined) return own;
  const found = await state.skillsNamed(name);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new DefinitionError(path, `there is no skill named ${JSON.stringify(name)}`);
  }
  const skills = found.map(({ skill }) => skill);
  if (others.length > 0) throw ambiguous("skills", name, skills, path);
  return { id: only.skill.id, version: only.skill.latest_version_id };
}

/** Several things have the name, and none of them is meant more than the others. */
export function ambiguous(
  what: string,
  name: string,
  found: readonly { readonly id: string }[],
  path: readonly PropertyKey[],
): DefinitionError {
  const ids = found.map(({ id }) => id).join(", ");
  return new DefinitionError(
    path,
    `there are ${found.length} ${what} named ${JSON.stringify(name)} (${ids}): archive or rename all but one`,
  );
}

async function withAgents(
  multiagent: MultiagentParams,
  agentOf: (entry: string) => Promise<RosterEntryParams>,
): Promise<MultiagentParams> {
  const resolved = async <T extends RosterEntryParams>(entries: readonly T[]) =>
    await Promise.all(
      entries.map(async (entry) => (typeof entry === "string" ? await agentOf(entry) : entry)),
    );
  if (multiagent.type === "coordinator") {
    return { ...multiagent, agents: await resolved(multiagent.agents) };
  }
  const delegation = async <T extends DelegationParams | null | undefined>(part: T) => {
    if (part?.type !== "enabled" || !part.predefined_agents) return part;
    return { ...part, predefined_agents: await resolved(part.predefined_agents) } as T;
  };
  return {
    ...multiagent,
    ...(multiagent.subagents && { subagents: await delegation(multiagent.subagents) }),
    ...(multiagent.workflows && { workflows: await delegation(multiagent.workflows) }),
  };
}

/** The file is all there is to say: what it leaves out is cleared, which an update would keep. */
function wholeUpdate(existing: Agent, create: AgentCreateParams): AgentUpdateParams {
  const { name, model, description, system, execution_identity } = create;
  const metadata = create.metadata ?? {};
  const gone = Object.keys(existing.metadata).filter((key) => !Object.hasOwn(metadata, key));
  return {
    version: existing.version,
    name,
    model: typeof model === "string" ? { id: model } : model,
    description: description ?? null,
    system: system ?? null,
    execution_identity: execution_identity ?? null,
    tools: create.tools ?? [],
    mcp_servers: create.mcp_servers ?? [],
    skills: create.skills ?? [],
    multiagent: wholeMultiagent(create.multiagent),
    metadata: { ...metadata, ...Object.fromEntries(gone.map((key) => [key, null])) },
  };
}

function wholeMultiagent(multiagent: MultiagentParams | null | undefined): MultiagentParams | null {
  if (multiagent?.type !== "multiagent_20261001") return multiagent ?? null;
  const { type, advisor, subagents, workflows } = multiagent;
  return {
    type,
    advisor: advisor ?? null,
    subagents: wholeDelegation(subagents),
    workflows: wholeDelegation(workflows),
  };
}

function wholeDelegation(part: DelegationParams | null | undefined): DelegationParams | null {
  if (part?.type !== "enabled") return part ?? null;
  const { type, inline_agents, predefined_agents } = part;
  return {
    type,
    inline_agents: inline_agents ?? null,
    predefined_agents: predefined_agents ?? null,
  };
}

function keyOf(id: string, version: number | undefined): string {
  return `${id} ${version ?? ""}`;
}
