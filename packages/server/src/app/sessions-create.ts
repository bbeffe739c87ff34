import {
  type Agent,
  type AgentWithOverridesParams,
  EnvironmentDefinition,
  type SessionCreateParams,
  type SessionErrorObject,
} from "@drover/api";
import { overriddenAgent, sessionAgent } from "../core/agents/session-agent.ts";
import { type NetworkSetting, sandboxNetwork } from "../core/egress/sandbox-network.ts";
import { InvalidRequestError, NotFoundError, NotImplementedError } from "../core/errors.ts";
import { memoryMountsOf } from "../core/memory/mounts.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SandboxBase } from "../core/ports/hands.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { NewSession } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import { chosenProvider, type ServerProviders } from "../core/sandboxes/chosen-provider.ts";
import { budgetSet } from "../core/session/budget.ts";
import type { EventDraft } from "../core/session/log-event.ts";
import { sessionPackages } from "../core/sessions/session-packages.ts";
import { tokenBinding } from "../core/sessions/token-binding.ts";
import { unsupportedParts } from "../core/sessions/unsupported.ts";
import { sessionCredentials } from "../core/vaults/session-credentials.ts";
import { unreachableHosts } from "../core/vaults/unreachable-hosts.ts";
import { newId } from "../lib/new-id.ts";
import { Secret } from "../lib/secret.ts";
import { agentOf } from "./agents.ts";
import { inputDraft } from "./events.ts";
import { assertFiles } from "./events-files.ts";
import { acceptInput } from "./input.ts";
import { assertVaults, attachAll } from "./sessions-attach.ts";
import { assertBudgetable } from "./sessions-budget.ts";
import { existing, toSession, type Wire } from "./sessions-wire.ts";
import type { SkillReferences } from "./skill-references.ts";

type AgentReference = SessionCreateParams["agent"];

export interface CreateRequest {
  readonly workspaceId: string;
  /** Of the key that asks for it. */
  readonly keyId: string;
  readonly params: SessionCreateParams;
  readonly secretBox: Pick<SecretBox, "seal">;
  readonly skillReferences: SkillReferences;
  readonly prices: PriceList;
  readonly networkSetting?: NetworkSetting | undefined;
  /** See `AppDeps`. */
  readonly sandboxBase?: SandboxBase | undefined;
  readonly providers?: ServerProviders | undefined;
  readonly dockerImage?: string | undefined;
}

/**
 * Makes a session from the agent as it is now, its files mounted and its first input waiting, or
 * nothing of it. With `initial_events` it answers `running`: its first turn is due. Credentials whose hosts
 * it cannot reach are shown by errors in its log.
 */
export async function createSession(tx: StoreTransaction, request: CreateRequest): Promise<Wire> {
  const { workspaceId, params, secretBox, skillReferences, prices, networkSetting } = request;
  const { sandboxBase = { type: "host" } } = request;
  const environment = await getEnvironment(tx, workspaceId, params.environment_id);
  const agent = await getAgent(tx, workspaceId, params.agent);
  const overrides = overridesOf(params.agent);
  const skills = await skillReferences.pinned(tx, workspaceId, overrides?.skills, "agent.skills");
  const effective = overriddenAgent(agent, overrides && { ...overrides, skills });
  const unsupported = unsupportedParts(effective, environment.config, params);
  if (unsupported.length > 0) {
    throw new NotImplementedError(`not implemented in this version: ${unsupported.join(", ")}`);
  }
  const provider = chosenProvider(environment.metadata, request.providers);
  const packages = sessionPackages({
    environment: environment.config,
    setting: networkSetting,
    base: sandboxBase,
    ...{ provider, dockerImage: request.dockerImage },
  });
  const budget = params.budget ?? null;
  if (budget !== null) assertBudgetable(effective, prices);
  const key = { workspaceId, sessionId: newId("sesn") };
  const agentSnapshot = sessionAgent(effective);
  const skillMounts = await skillReferences.mounts(tx, workspaceId, agentSnapshot.skills);
  const { resources, mounts, tokens } = await attachAll(tx, key, params.resources ?? []);
  const vaultIds = params.vault_ids ?? [];
  await assertVaults(tx, workspaceId, vaultIds);
  const session: NewSession = {
    workspace_id: workspaceId,
    id: key.sessionId,
    thread_id: newId("sthr"),
    hand_id: newId("hand"),
    status: "idle",
    title: params.title ?? null,
    metadata: params.metadata ?? {},
    environment_id: params.environment_id,
    agent: { ...agentSnapshot },
    resources: resources.map((resource) => ({ ...resource })),
    vault_ids: vaultIds,
    budget,
    recipe: {
      provider,
      base: sandboxBase,
      ...(packages !== undefined && { packages }),
      mounts: [...skillMounts, ...mounts, ...memoryMountsOf(resources)],
      network: sandboxNetwork({
        setting: networkSetting,
        environment: environment.config,
        mcpServers: agentSnapshot.mcp_servers,
      }),
    },
    totals: { usage: {}, stats: {} },
    created_by: request.keyId,
    created_at: tx.now,
  };
  await tx.sessions.insert(session);
  await sealTokens(tx, key, { tokens, secretBox });
  if (budget !== null) {
    await tx.events.appendReceipts(key, [budgetSet(newId("sevt"), session.thread_id, budget)]);
  }
  const active = await tx.credentials.listActive(workspaceId, vaultIds);
  const notes = unreachableHosts(sessionCredentials(vaultIds, active), session.recipe.network);
  if (notes.length > 0) {
    const drafts = notes.map((error) => errorDraft(session, error));
    await tx.events.appendReceipts(key, drafts);
  }
  await acceptInitial(tx, session, params.initial_events ?? []);
  return toSession(existing(await tx.sessions.find(key), key), tx.now);
}

/** Puts the tokens of repositories where only the making of a sandbox reads them. */
async function sealTokens(
  tx: StoreTransaction,
  key: SessionKey,
  {
    tokens,
    secretBox,
  }: { tokens: ReadonlyMap<string, string>; secretBox: Pick<SecretBox, "seal"> },
): Promise<void> {
  for (const [resourceId, token] of tokens) {
    await tx.sessions.putRepositoryToken(
      key,
      resourceId,
      secretBox.seal(new Secret(token), tokenBinding(key, resourceId)),
    );
  }
}

function errorDraft(session: NewSession, error: SessionErrorObject): EventDraft {
  return {
    id: newId("sevt"),
    type: "session.error",
    thread_id: session.thread_id,
    cross_posted: false,
    public: { error },
    private: {},
  };
}

async function acceptInitial(
  tx: StoreTransaction,
  session: NewSession,
  events: NonNullable<SessionCreateParams["initial_events"]>,
): Promise<void> {
  if (events.length === 0) return;
  const key = { workspaceId: session.workspace_id, sessionId: session.id };
  await assertFiles(tx, session.workspace_id, events, "initial_events");
  const drafts = events.map((event, index) =>
    inputDraft(session, event, `initial_events.${index}`),
  );
  await acceptInput(tx, existing(await tx.sessions.find(key), key), drafts);
}

/** Rejects an environment that is not there or is archived. */
export async function getEnvironment(
  tx: Pick<Store, "environments">,
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
