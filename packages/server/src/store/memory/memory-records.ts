import { ConflictError } from "../../core/errors.ts";
import type {
  Agents,
  AgentWriter,
  AnsweredRequests,
  ApiKeys,
  ApiKeyWriter,
  Environments,
  EnvironmentWriter,
} from "../../core/ports/records.ts";
import { canonical } from "../queries/pages.ts";
import {
  compareText,
  isWithin,
  type MemorySource,
  type MemoryTransaction,
  pageOf,
  stored,
} from "./memory-data.ts";

export function memoryAgentReader(source: MemorySource): Agents {
  return {
    find: async (workspaceId, id, version) => {
      const { agents, agentVersions } = await source();
      const latest = agents.get(workspaceId, id);
      if (latest === undefined) return undefined;
      const found = agentVersions.get(workspaceId, id, version ?? latest.version);
      return found && { ...found, archived_at: latest.archived_at };
    },
    list: async (workspaceId, { createdAt, includeArchived }, page) => {
      const found = (await source()).agents.filter(
        (agent) =>
          agent.workspace_id === workspaceId &&
          isWithin(agent.created_at, createdAt) &&
          (includeArchived === true || agent.archived_at === null),
      );
      return pageOf(found, page);
    },
    listVersions: async (workspaceId, id, { limit, after }) => {
      const { agents, agentVersions } = await source();
      const archivedAt = agents.get(workspaceId, id)?.archived_at ?? null;
      return agentVersions
        .filter((agent) => agent.workspace_id === workspaceId && agent.id === id)
        .filter((agent) => after === undefined || agent.version < after)
        .sort((a, b) => b.version - a.version)
        .slice(0, limit)
        .map((agent) => ({ ...agent, archived_at: archivedAt }));
    },
  };
}

export function memoryAgents(tx: MemoryTransaction): AgentWriter {
  return {
    ...memoryAgentReader(async () => tx.data()),
    put: async (given) => {
      const { agents, agentVersions } = tx.data();
      const { workspace_id, id, version } = given;
      const earlier = agents.get(workspace_id, id);
      if (earlier !== undefined && earlier.version >= version) {
        throw new ConflictError(`Agent ${id} has a version ${version} or a later one already.`);
      }
      const { created_at, archived_at } = earlier ?? given;
      const agent = stored({ ...given, created_at, archived_at });
      agents.set(agent, workspace_id, id);
      agentVersions.set(agent, workspace_id, id, version);
    },
    archive: async (workspaceId, id, archivedAt) => {
      const { agents } = tx.data();
      const agent = agents.get(workspaceId, id);
      if (agent !== undefined) agents.set({ ...agent, archived_at: archivedAt }, workspaceId, id);
    },
  };
}

export function memoryEnvironmentReader(source: MemorySource): Environments {
  return {
    find: async (workspaceId, id) => (await source()).environments.get(workspaceId, id),
    list: async (workspaceId, { includeArchived }, page) => {
      const found = (await source()).environments.filter(
        (environment) =>
          environment.workspace_id === workspaceId &&
          (includeArchived === true || environment.archived_at === null),
      );
      return pageOf(found, page);
    },
  };
}

export function memoryEnvironments(tx: MemoryTransaction): EnvironmentWriter {
  return {
    ...memoryEnvironmentReader(async () => tx.data()),
    insert: async (environment) => {
      refuseTakenName(tx, environment);
      const { workspace_id, id } = environment;
      tx.data().environments.insert(stored(environment), workspace_id, id);
    },
    update: async (environment) => {
      refuseTakenName(tx, environment);
      const { workspace_id, id } = environment;
      const earlier = tx.data().environments.get(workspace_id, id);
      if (earlier === undefined) return;
      const { created_at } = earlier;
      tx.data().environments.set(stored({ ...environment, created_at }), workspace_id, id);
    },
    delete: async (workspaceId, id) => tx.data().environments.delete(workspaceId, id),
    isUsed: async (workspaceId, id) =>
      tx
        .data()
        .sessions.filter(
          (session) =>
            session.workspace_id === workspaceId &&
            session.environment_id === id &&
            session.deleted_at === null,
        ).length > 0,
  };
}

function refuseTakenName(
  tx: MemoryTransaction,
  { workspace_id, id, name, archived_at }: Parameters<EnvironmentWriter["insert"]>[0],
): void {
  const others = tx
    .data()
    .environments.filter(
      (other) =>
        other.workspace_id === workspace_id &&
        other.name === name &&
        other.id !== id &&
        other.archived_at === null,
    );
  if (archived_at === null && others.length > 0) {
    throw new ConflictError(`There is an environment named ${JSON.stringify(name)} already.`);
  }
}

export function memoryApiKeyReader(source: MemorySource): ApiKeys {
  return {
    findBySha256: async (keySha256) =>
      (await source()).apiKeys.filter(
        (key) => key.key_sha256 === keySha256 && key.revoked_at === null,
      )[0],
    list: async (workspaceId) =>
      (await source()).apiKeys
        .filter((key) => key.workspace_id === workspaceId)
        .sort((a, b) => compareText(a.created_at, b.created_at) || compareText(a.id, b.id)),
  };
}

export function memoryApiKeys(tx: MemoryTransaction): ApiKeyWriter {
  return {
    ...memoryApiKeyReader(async () => tx.data()),
    insert: async (key) => {
      const { apiKeys } = tx.data();
      const same = apiKeys.filter(({ key_sha256 }) => key_sha256 === key.key_sha256);
      if (same.length > 0) throw new Error(`the key of ${key.id} is stored already`);
      apiKeys.insert(stored(key), key.workspace_id, key.id);
    },
    revoke: async (workspaceId, id, revokedAt) => {
      const { apiKeys } = tx.data();
      const key = apiKeys.get(workspaceId, id);
      if (key === undefined) return;
      apiKeys.set({ ...key, revoked_at: key.revoked_at ?? revokedAt }, workspaceId, id);
    },
  };
}

export function memoryAnsweredRequests(tx: MemoryTransaction): AnsweredRequests {
  return {
    find: async (workspaceId, requestKey, since) => {
      const found = tx.data().answeredRequests.get(workspaceId, requestKey);
      return found !== undefined && found.created_at >= canonical(since) ? found : undefined;
    },
    put: async (request) => {
      const { workspace_id, request_key } = request;
      tx.data().answeredRequests.set(stored(request), workspace_id, request_key);
    },
    prune: async (before, limit) => {
      const { answeredRequests } = tx.data();
      const old = answeredRequests
        .filter((request) => request.created_at < canonical(before))
        .sort((a, b) => compareText(a.created_at, b.created_at));
      for (const request of old.slice(0, limit)) {
        answeredRequests.delete(request.workspace_id, request.request_key);
      }
    },
  };
}
