import type {
  AdvisorEntry,
  AgentReference,
  Delegation,
  DelegationParams,
  Multiagent,
  Multiagent20261001,
  Multiagent20261001Params,
  MultiagentParams,
  PredefinedAgentParams,
  RosterEntryParams,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../errors.ts";

/** What a coordinator calls its advisor, and so cannot call an agent beside it. */
const ADVISOR_NAME = "anthropic.advisor";

/** What must be known of an agent to let another one delegate to it. */
export interface ReferencedAgent {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly isArchived: boolean;
  readonly hasMultiagent: boolean;
}

/** Looks up what `agentReferences` named; undefined if there is none. */
export interface Roster {
  /** The agent that is being made or changed, at its present version. */
  readonly self: { readonly id: string; readonly version: number; readonly name: string };
  find(id: string, version: number | undefined): ReferencedAgent | undefined;
}

export interface AgentLookup {
  readonly id: string;
  readonly version?: number | undefined;
}

/** The other agents that must be looked up before `multiagent` can be resolved. */
export function agentReferences(multiagent: MultiagentParams | null | undefined): AgentLookup[] {
  if (multiagent === null || multiagent === undefined) return [];
  return rosterOf(multiagent).flatMap((entry) => {
    if (typeof entry === "string") return [{ id: entry }];
    return entry.type === "agent" ? [{ id: entry.id, version: entry.version }] : [];
  });
}

/** `multiagent` with references pinned to versions and everything left out filled in (wire §3.1). */
export function resolvedMultiagent(multiagent: MultiagentParams, roster: Roster): Multiagent {
  if (multiagent.type === "coordinator") {
    return { type: multiagent.type, agents: resolvedEntries(multiagent.agents, roster) };
  }
  return {
    type: multiagent.type,
    advisor: multiagent.advisor ?? { type: "disabled" },
    subagents: resolvedDelegation(multiagent.subagents, roster, "subagents"),
    workflows: resolvedDelegation(multiagent.workflows, roster, "workflows"),
  };
}

/**
 * What an update asks for in all: the sent `multiagent` alone, except that one of type
 * `multiagent_20261001` is merged level by level into a stored one of the same type (wire §3.3).
 */
export function mergedMultiagent(
  current: Multiagent | null,
  sent: MultiagentParams,
): MultiagentParams {
  const { type } = sent;
  if (type !== "multiagent_20261001" || current?.type !== type) return sent;
  return mergedLevels(current, sent);
}

/**
 * References of the agent to itself follow from its present version to the next one; to a version
 * before that they stay.
 */
export function repinnedMultiagent(
  multiagent: Multiagent | null,
  self: { readonly id: string; readonly version: number },
  version: number,
): Multiagent | null {
  const repinned = <T extends AgentReference | AdvisorEntry>(entry: T): T =>
    entry.type === "agent" && entry.id === self.id && entry.version === self.version
      ? { ...entry, version }
      : entry;
  const repinnedIn = (delegation: Delegation): Delegation =>
    delegation.type === "disabled"
      ? delegation
      : { ...delegation, predefined_agents: delegation.predefined_agents.map(repinned) };
  if (multiagent === null) return null;
  if (multiagent.type === "coordinator") {
    return { ...multiagent, agents: multiagent.agents.map(repinned) };
  }
  return {
    ...multiagent,
    subagents: repinnedIn(multiagent.subagents),
    workflows: repinnedIn(multiagent.workflows),
  };
}

function mergedLevels(
  current: Multiagent20261001,
  sent: Multiagent20261001Params,
): Multiagent20261001Params {
  return {
    type: sent.type,
    advisor: sent.advisor === undefined ? current.advisor : sent.advisor,
    subagents: mergedDelegation(current.subagents, sent.subagents),
    workflows: mergedDelegation(current.workflows, sent.workflows),
  };
}

function mergedDelegation(
  current: Delegation,
  sent: DelegationParams | null | undefined,
): DelegationParams | null {
  if (sent === undefined) return current;
  if (sent === null || sent.type === "disabled" || current.type === "disabled") return sent;
  return {
    type: "enabled",
    inline_agents: sent.inline_agents === undefined ? current.inline_agents : sent.inline_agents,
    predefined_agents:
      sent.predefined_agents === undefined ? current.predefined_agents : sent.predefined_agents,
  };
}

function rosterOf(multiagent: MultiagentParams): readonly RosterEntryParams[] {
  if (multiagent.type === "coordinator") return multiagent.agents;
  return [multiagent.subagents, multiagent.workflows].flatMap((delegation) =>
    delegation?.type === "enabled" ? (delegation.predefined_agents ?? []) : [],
  );
}

function resolvedDelegation(
  given: DelegationParams | null | undefined,
  roster: Roster,
  field: string,
): Delegation {
  const delegation = given ?? { type: "enabled" };
  if (delegation.type === "disabled") return delegation;
  const agents = (delegation.predefined_agents ?? []).map((entry) => resolvedAgent(entry, roster));
  assertDistinct(agents, `multiagent.${field}.predefined_agents`);
  const inline = delegation.inline_agents?.type ?? "enabled";
  if (inline === "disabled" && agents.length === 0) {
    throw new InvalidRequestError(
      `multiagent.${field}.predefined_agents: needs an agent where inline_agents are disabled`,
    );
  }
  return { type: "enabled", inline_agents: { type: inline }, predefined_agents: agents };
}

/** The advisor comes last, and its name is taken. */
function resolvedEntries(
  entries: readonly RosterEntryParams[],
  roster: Roster,
): (AgentReference | AdvisorEntry)[] {
  const advisors = entries.filter(isAdvisor);
  const takenName = advisors.length === 0 ? undefined : ADVISOR_NAME;
  const agents = entries.flatMap((entry) =>
    isAdvisor(entry) ? [] : [resolvedAgent(entry, roster, takenName)],
  );
  const resolved = [...agents, ...advisors];
  assertDistinct(resolved, "multiagent.agents");
  return resolved;
}

function isAdvisor(entry: RosterEntryParams): entry is AdvisorEntry {
  return typeof entry !== "string" && entry.type === "advisor";
}

function resolvedAgent(
  entry: PredefinedAgentParams,
  { self, find }: Roster,
  takenName?: string,
): AgentReference {
  const id = typeof entry === "string" ? entry : entry.type === "self" ? self.id : entry.id;
  const version = typeof entry !== "string" && entry.type === "agent" ? entry.version : undefined;
  if (id === self.id && (version ?? self.version) === self.version) {
    assertNameFree(self, takenName);
    return { type: "agent", id, version: self.version };
  }
  const found = find(id, version);
  const name = version === undefined ? id : `${id} version ${version}`;
  if (found === undefined) throw new NotFoundError(`multiagent: there is no agent ${name}`);
  if (found.isArchived) throw new InvalidRequestError(`multiagent: agent ${name} is archived`);
  if (found.hasMultiagent) {
    throw new InvalidRequestError(`multiagent: agent ${name} has multiagent itself`);
  }
  assertNameFree(found, takenName);
  return { type: "agent", id: found.id, version: found.version };
}

function assertNameFree(
  { id, name }: { readonly id: string; readonly name: string },
  takenName: string | undefined,
): void {
  if (name !== takenName) return;
  throw new InvalidRequestError(`multiagent.agents: ${id} has the advisor's name, ${name}`);
}

function assertDistinct(entries: readonly (AgentReference | AdvisorEntry)[], field: string): void {
  const ids = entries.map((entry) => (entry.type === "agent" ? entry.id : "an advisor"));
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new InvalidRequestError(`${field}: ${twice} is named twice`);
}
