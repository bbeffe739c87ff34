import {
  type Agent,
  type AgentWithOverridesParams,
  EnvironmentDefinition,
  type FileResourceParams,
  type SessionCreateParams,
  type SessionResourceParams,
} from "@drover/api";
import { overriddenAgent, sessionAgent } from "../core/agents/session-agent.ts";
import { InvalidRequestError, NotFoundError, NotImplementedError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { NewSession } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { assertDistinctPaths } from "../core/sessions/mount-paths.ts";
import { unsupportedParts } from "../core/sessions/unsupported.ts";
import { newId } from "../lib/new-id.ts";
import { agentOf } from "./agents.ts";
import { inputDraft } from "./events.ts";
import { acceptInput } from "./input.ts";
import { type MountedFile, mountFile } from "./sessions-mounts.ts";
import { mountPathsOf } from "./sessions-resources.ts";
import { existing, toSession, type Wire } from "./sessions-wire.ts";

type AgentReference = SessionCreateParams["agent"];

/**
 * Makes a session from the agent as it is now, its files mounted and its first input waiting, or
 * nothing of it. With `initial_events` it answers `running`: its first turn is due.
 */
export async function createSession(
  tx: StoreTransaction,
  workspaceId: string,
  params: SessionCreateParams,
): Promise<Wire> {
  const environment = await getEnvironment(tx, workspaceId, params.environment_id);
  const agent = await getAgent(tx, workspaceId, params.agent);
  const effective = overriddenAgent(agent, overridesOf(params.agent));
  const unsupported = unsupportedParts(effective, environment.config, params);
  if (unsupported.length > 0) {
    throw new NotImplementedError(`not implemented in this version: ${unsupported.join(", ")}`);
  }
  const key = { workspaceId, sessionId: newId("sesn") };
  const mounted = await mountAll(tx, key, params.resources ?? []);
  const session: NewSession = {
    workspace_id: workspaceId,
    id: key.sessionId,
    thread_id: newId("sthr"),
    hand_id: newId("hand"),
    status: "idle",
    title: params.title ?? null,
    metadata: params.metadata ?? {},
    environment_id: params.environment_id,
    agent: { ...sessionAgent(effective) },
    resources: mounted.map(({ resource }) => ({ ...resource })),
    vault_ids: [],
    recipe: {
      provider: "bubblewrap",
      base: { type: "host" },
      mounts: mounted.map(({ mount }) => mount),
      network: { type: "none" },
    },
    totals: { usage: {}, stats: {} },
    created_at: tx.now,
  };
  await tx.sessions.insert(session);
  await acceptInitial(tx, session, params.initial_events ?? []);
  return toSession(existing(await tx.sessions.find(key), key), tx.now);
}

/** Other kinds of resources must have been refused before. */
async function mountAll(
  tx: StoreTransaction,
  key: SessionKey,
  params: readonly SessionResourceParams[],
): Promise<readonly MountedFile[]> {
  const files = params.filter((each): each is FileResourceParams => each.type === "file");
  // Ascending, so that a list by id shows them in the order of the request.
  const ids = files.map(() => newId("sesrsc")).toSorted();
  const mounted: MountedFile[] = [];
  for (const [index, file] of files.entries()) {
    const resourceId = ids[index] ?? "";
    const place = `resources.${index}.`;
    mounted.push(await mountFile(tx, key, { params: file, resourceId, place }));
  }
  assertDistinctPaths(mountPathsOf(mounted.map(({ resource }) => ({ ...resource }))), "resources");
  return mounted;
}

async function acceptInitial(
  tx: StoreTransaction,
  session: NewSession,
  events: NonNullable<SessionCreateParams["initial_events"]>,
): Promise<void> {
  if (events.length === 0) return;
  const key = { workspaceId: session.workspace_id, sessionId: session.id };
  const drafts = events.map((event, index) =>
    inputDraft(session, event, `initial_events.${index}`),
  );
  await acceptInput(tx, existing(await tx.sessions.find(key), key), drafts);
}

async function getEnvironment(
  tx: StoreTransaction,
  workspaceId: string,
  id: string,
): Promise<EnvironmentDefinition> {
  const record = await tx.environments.find(workspaceId, id);
  if (record === undefined) {
    throw new NotFoundError(`environment_id: there is no environment ${id}`, {
      code: "environment_not_found",
    });
  }
  if (record.archived_at !== null) {
    throw new InvalidRequestError(`environment_id: environment ${id} is archived`, {
      code: "environment_archived",
    });
  }
  return EnvironmentDefinition.parse(record.body);
}

async function getAgent(
  tx: StoreTransaction,
  workspaceId: string,
  reference: AgentReference,
): Promise<Agent> {
  const { id, version } = typeof reference === "string" ? { id: reference } : reference;
  const latest = await tx.agents.find(workspaceId, id);
  if (latest === undefined) {
    throw new NotFoundError(`agent: there is no agent ${id}`, { code: "agent_not_found" });
  }
  // The latest tells whether the agent is archived: old versions keep what they were.
  if (latest.archived_at !== null) {
    throw new InvalidRequestError(`agent: agent ${id} is archived`, { code: "agent_archived" });
  }
  if (version === undefined || version === latest.version) return agentOf(latest);
  const record = await tx.agents.find(workspaceId, id, version);
  if (record === undefined) {
    throw new NotFoundError(`agent.version: agent ${id} has no version ${version}`, {
      code: "agent_not_found",
    });
  }
  return agentOf(record);
}

function overridesOf(reference: AgentReference): AgentWithOverridesParams | undefined {
  if (typeof reference === "string") return undefined;
  return reference.type === "agent_with_overrides" ? reference : undefined;
}
