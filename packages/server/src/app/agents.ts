import { isDeepStrictEqual } from "node:util";
import {
  type Agent,
  type AgentCreateParams,
  AgentDefinition,
  type AgentListQuery,
  type AgentUpdateParams,
  idPrefixes,
  type MultiagentParams,
  type Page,
  type PageQuery,
} from "@drover/api";
import { newDefinition, repinned, updatedDefinition } from "../core/agents/definition.ts";
import { agentReferences, type ReferencedAgent, type Roster } from "../core/agents/multiagent.ts";
import { ConflictError, InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { Agents as AgentReader, AgentRecord } from "../core/ports/records.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { Models } from "./models.ts";
import { type Cursors, createdAtOf, readForwardPage, readPage } from "./pagination.ts";
import type { NewId, Principal } from "./principal.ts";
import type { SkillReferences } from "./skill-references.ts";

/** Definitions are up to 1 MB each, so a page of them is kept shorter than others. */
const PAGE_LIMIT_MAX = 100;

export interface Agents {
  create(tx: StoreTransaction, principal: Principal, params: AgentCreateParams): Promise<Agent>;
  /** The latest version or the one asked for; rejects with `NotFoundError`. */
  retrieve(workspaceId: string, id: string, version?: number): Promise<Agent>;
  /**
   * Makes the next version, or answers the present one if nothing changes. Rejects with
   * `ConflictError` if `params.version` is not the present one.
   */
  update(
    tx: StoreTransaction,
    principal: Principal,
    id: string,
    params: AgentUpdateParams,
  ): Promise<Agent>;
  /** Newest first. */
  list(workspaceId: string, query: AgentListQuery): Promise<Page<Agent>>;
  /** For good; again is no error. */
  archive(tx: StoreTransaction, principal: Principal, id: string): Promise<Agent>;
  /** Newest first. */
  listVersions(workspaceId: string, id: string, query: PageQuery): Promise<Page<Agent>>;
}

interface AgentsOptions {
  readonly store: Store;
  readonly models: Pick<Models, "assertSpeed">;
  readonly cursors: Cursors;
  readonly newId: NewId;
  readonly skills: SkillReferences;
}

export function createAgents({ store, models, cursors, newId, skills }: AgentsOptions): Agents {
  return {
    create: async (tx, { workspaceId }, params) => {
      models.assertSpeed(params.model);
      const self = { id: newId(idPrefixes.agent), version: 1 };
      const named = { ...self, name: params.name };
      const roster = await readRoster(tx.agents, workspaceId, named, params.multiagent);
      const record: AgentRecord = {
        workspace_id: workspaceId,
        ...self,
        created_at: tx.now,
        updated_at: tx.now,
        archived_at: null,
        body: newDefinition(
          { ...params, skills: await skills.pinned(tx, workspaceId, params.skills) },
          roster,
        ),
      };
      await tx.agents.put(record);
      return agentOf(record);
    },
    retrieve: async (workspaceId, id, version) =>
      agentOf(await getAgent(store.agents, workspaceId, id, version)),
    update: async (tx, principal, id, params) => {
      if (params.model !== undefined) models.assertSpeed(params.model);
      const pinned = await skills.pinned(tx, principal.workspaceId, params.skills);
      return await updateAgent(tx, principal, id, { ...params, skills: pinned });
    },
    list: async (workspaceId, query) => {
      const createdAt = createdAtOf(query);
      const { data, next_page } = await readPage({
        cursors,
        scope: { workspaceId, list: "agents", order: "desc" },
        query,
        limitMax: PAGE_LIMIT_MAX,
        createdAt,
        read: (page) =>
          store.agents.list(
            workspaceId,
            { createdAt, includeArchived: query.include_archived ?? false },
            page,
          ),
        present: agentOf,
      });
      return { data, next_page };
    },
    archive: async (tx, { workspaceId }, id) => {
      const record = await getAgent(tx.agents, workspaceId, id);
      if (record.archived_at !== null) return agentOf(record);
      await tx.agents.archive(workspaceId, id, tx.now);
      return agentOf({ ...record, archived_at: tx.now });
    },
    listVersions: (workspaceId, id, query) =>
      listVersions({ store, cursors, workspaceId, id, query }),
  };
}

/** The resource as the API shows it. */
export function agentOf(record: AgentRecord): Agent {
  const { id, version, created_at, updated_at, archived_at } = record;
  const definition = AgentDefinition.parse(record.body);
  return { id, type: "agent", version, ...definition, created_at, updated_at, archived_at };
}

async function updateAgent(
  tx: StoreTransaction,
  { workspaceId }: Principal,
  id: string,
  params: AgentUpdateParams,
): Promise<Agent> {
  const record = await getAgent(tx.agents, workspaceId, id);
  if (record.archived_at !== null) {
    throw new InvalidRequestError(`agent ${id} is archived and cannot be changed`);
  }
  if (params.version !== undefined && params.version !== record.version) {
    throw new ConflictError(
      `version: agent ${id} is at version ${record.version}, not ${params.version}`,
    );
  }
  const current = AgentDefinition.parse(record.body);
  const named = { ...record, name: params.name ?? current.name };
  const roster = await readRoster(tx.agents, workspaceId, named, params.multiagent);
  const updated = updatedDefinition(current, params, roster);
  if (isDeepStrictEqual(updated, current)) return agentOf(record);
  const version = record.version + 1;
  const next: AgentRecord = {
    ...record,
    version,
    updated_at: tx.now,
    body: repinned(updated, record, version),
  };
  await tx.agents.put(next);
  return agentOf(next);
}

async function listVersions(request: {
  store: Store;
  cursors: Cursors;
  workspaceId: string;
  id: string;
  query: PageQuery;
}): Promise<Page<Agent>> {
  const { store, cursors, workspaceId, id, query } = request;
  await getAgent(store.agents, workspaceId, id);
  const scope = { workspaceId, list: `${id}/versions`, order: "desc" } as const;
  return await readForwardPage({
    cursors,
    scope,
    query,
    limitMax: PAGE_LIMIT_MAX,
    read: (limit, position) => {
      const after = position === undefined ? {} : { after: Number(position[0]) };
      return store.agents.listVersions(workspaceId, id, { limit, ...after });
    },
    positionOf: ({ version }) => [String(version)],
    present: agentOf,
  });
}

async function getAgent(
  agents: AgentReader,
  workspaceId: string,
  id: string,
  version?: number,
): Promise<AgentRecord> {
  const record = await agents.find(workspaceId, id, version);
  if (record !== undefined) return record;
  const name = version === undefined ? id : `${id} version ${version}`;
  throw new NotFoundError(`there is no agent ${name}`);
}

/**
 * Reads the agents that `multiagent` names. Those that an update keeps were checked when they were
 * named, and are looked up again only through their stored reference.
 */
async function readRoster(
  agents: AgentReader,
  workspaceId: string,
  self: Roster["self"] & { readonly body?: AgentRecord["body"] },
  multiagent: MultiagentParams | null | undefined,
): Promise<Roster> {
  const stored = self.body === undefined ? null : AgentDefinition.parse(self.body).multiagent;
  const found = new Map<string, ReferencedAgent>();
  const lookups = [...agentReferences(multiagent), ...agentReferences(stored)];
  for (const { id, version } of multiagent ? lookups : []) {
    const record = await agents.find(workspaceId, id, version);
    if (record !== undefined) found.set(rosterKey(id, version), referencedAgent(record));
  }
  return {
    self: { id: self.id, version: self.version, name: self.name },
    find: (id, version) => found.get(rosterKey(id, version)),
  };
}

function rosterKey(id: string, version: number | undefined): string {
  return version === undefined ? id : `${id} ${version}`;
}

function referencedAgent(record: AgentRecord): ReferencedAgent {
  const { name, multiagent } = AgentDefinition.parse(record.body);
  return {
    id: record.id,
    name,
    version: record.version,
    isArchived: record.archived_at !== null,
    hasMultiagent: multiagent !== null,
  };
}
