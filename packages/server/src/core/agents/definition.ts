import type {
  AgentCreateParams,
  AgentDefinition,
  AgentSkill,
  AgentSkillParams,
  AgentUpdateParams,
  ModelConfig,
  ModelConfigParams,
} from "@drover/api";
import { InvalidRequestError } from "../errors.ts";
import { patchedMetadata } from "../metadata.ts";
import {
  mergedMultiagent,
  type Roster,
  repinnedMultiagent,
  resolvedMultiagent,
} from "./multiagent.ts";
import { assertToolRules } from "./tool-rules.ts";
import { resolvedTools } from "./tools.ts";

type Effort = NonNullable<ModelConfig["effort"]>;

/** Of one version as JSON: what bounds a page of agents and every session's snapshot. */
const DEFINITION_LENGTH_MAX = 1_000_000;
const EFFORT_DEFAULT: Effort = { type: "high" };

/** A new agent's definition in the resolved form. Rejects contradictions by name. */
export function newDefinition(params: AgentCreateParams, roster: Roster): AgentDefinition {
  return checked({
    name: params.name,
    description: emptyIsNull(params.description),
    system: emptyIsNull(params.system),
    model: resolvedModel(params.model, undefined),
    tools: resolvedTools(params.tools ?? []),
    mcp_servers: params.mcp_servers ?? [],
    skills: resolvedSkills(params.skills ?? []),
    execution_identity: params.execution_identity ?? { type: "service_account" },
    multiagent: params.multiagent ? resolvedMultiagent(params.multiagent, roster) : null,
    metadata: params.metadata ?? {},
  });
}

/**
 * The definition after an update (wire §3.3): what is left out is kept, null clears, the rest is
 * replaced, except that metadata is patched, an effort left out stays, and `multiagent_20261001` is
 * merged. The result is still pinned to the version before; see `repinned`.
 */
export function updatedDefinition(
  current: AgentDefinition,
  params: AgentUpdateParams,
  roster: Roster,
): AgentDefinition {
  const { model, multiagent } = params;
  return checked({
    name: params.name ?? current.name,
    description: kept(params.description, current.description, emptyIsNull),
    system: kept(params.system, current.system, emptyIsNull),
    model: model === undefined ? current.model : resolvedModel(model, current.model.effort),
    tools: kept(params.tools, current.tools, (tools) => resolvedTools(tools ?? [])),
    mcp_servers: kept(params.mcp_servers, current.mcp_servers, (servers) => servers ?? []),
    skills: kept(params.skills, current.skills, (skills) => resolvedSkills(skills ?? [])),
    execution_identity: kept(
      params.execution_identity,
      current.execution_identity,
      (identity) => identity ?? { type: "service_account" },
    ),
    multiagent: kept(multiagent, current.multiagent, (sent) =>
      sent === null ? null : resolvedMultiagent(mergedMultiagent(current.multiagent, sent), roster),
    ),
    metadata: patchedMetadata(current.metadata, params.metadata, { emptyDeletes: false }),
  });
}

/** The definition as the next version of the agent: references to its present one follow. */
export function repinned(
  definition: AgentDefinition,
  self: { readonly id: string; readonly version: number },
  version: number,
): AgentDefinition {
  return { ...definition, multiagent: repinnedMultiagent(definition.multiagent, self, version) };
}

/** The model with its defaults; an effort that is not given is `keptEffort`, else `high`. */
export function resolvedModel(
  params: ModelConfigParams,
  keptEffort: Effort | undefined,
): ModelConfig {
  if (typeof params === "string") return resolvedModel({ id: params }, keptEffort);
  const { id, inference_geo, speed } = params;
  const given = typeof params.effort === "string" ? { type: params.effort } : params.effort;
  return {
    id,
    effort: given ?? keptEffort ?? EFFORT_DEFAULT,
    ...(inference_geo === null || inference_geo === undefined ? {} : { inference_geo }),
    speed: speed ?? "standard",
  };
}

/** Whoever stores them has pinned each to a version; until then the word for the newest stands for it. */
export function resolvedSkills(skills: readonly AgentSkillParams[]): AgentSkill[] {
  return skills.map((skill) => ({ ...skill, version: skill.version ?? "latest" }));
}

/** Rejects tools and servers that contradict each other, and what would be too large to list. */
export function checked<D extends Pick<AgentDefinition, "tools" | "mcp_servers">>(
  definition: D,
): D {
  assertToolRules(definition.tools, definition.mcp_servers);
  if (JSON.stringify(definition).length > DEFINITION_LENGTH_MAX) {
    throw new InvalidRequestError(
      `the agent is larger than ${DEFINITION_LENGTH_MAX} characters of JSON`,
    );
  }
  return definition;
}

function kept<Sent, Stored>(
  sent: Sent | undefined,
  stored: Stored,
  change: (sent: Sent) => Stored,
): Stored {
  return sent === undefined ? stored : change(sent);
}

function emptyIsNull(text: string | null | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}
