import { Hono } from "hono";
import { createAgents } from "../app/agents.ts";
import { createCredentialValidator } from "../app/credential-validation.ts";
import { createCredentials } from "../app/credentials.ts";
import { createEnvironments } from "../app/environments.ts";
import { createFiles } from "../app/files.ts";
import type { InstalledSkill } from "../app/installed-skills.ts";
import { createKeys, type Keys } from "../app/keys.ts";
import { createMemories } from "../app/memories.ts";
import { createMemoryStores } from "../app/memory-stores.ts";
import { createMemoryVersions } from "../app/memory-versions.ts";
import type { Models } from "../app/models.ts";
import type { Cursors } from "../app/pagination.ts";
import type { SessionGrants } from "../app/session-grants.ts";
import type { ReplayOptions } from "../app/sessions-replay.ts";
import { createSkillReferences } from "../app/skill-references.ts";
import { createSkills } from "../app/skills.ts";
import { StreamReaders } from "../app/streams-readers.ts";
import { SharedReads } from "../app/streams-reads.ts";
import { createVaults } from "../app/vaults.ts";
import { createWorkspaces } from "../app/workspaces.ts";
import type { NetworkSetting } from "../core/egress/sandbox-network.ts";
import type { FindModel } from "../core/models/offered-models.ts";
import type { Announcements } from "../core/ports/announcements.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { CredentialTrials } from "../core/ports/credential-trials.ts";
import type { LiveOutputs, SandboxBase } from "../core/ports/hands.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { SecretCarrier } from "../core/ports/secret-carrier.ts";
import type { Store } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import type { ServerProviders } from "../core/sandboxes/chosen-provider.ts";
import type { SecretManager } from "../core/vaults/external-reference.ts";
import { newId } from "../lib/new-id.ts";
import { authenticate } from "./auth.ts";
import type { AppEnv, HttpLog } from "./context.ts";
import { respondUnrouted, respondWithError } from "./errors.ts";
import { createWrite } from "./once.ts";
import { refuseOddPaths } from "./paths.ts";
import { agentRoutes } from "./routes/agents.ts";
import { credentialUseRoutes } from "./routes/credential-uses.ts";
import { credentialRoutes } from "./routes/credentials.ts";
import { environmentRoutes } from "./routes/environments.ts";
import { eventRoutes } from "./routes/events.ts";
import { fileRoutes } from "./routes/files.ts";
import { healthRoutes } from "./routes/health.ts";
import { memoryRoutes } from "./routes/memories.ts";
import { memoryStoreRoutes } from "./routes/memory-stores.ts";
import { modelRoutes } from "./routes/models.ts";
import { openApiRoutes } from "./routes/openapi.ts";
import { sessionCopyRoutes } from "./routes/session-copies.ts";
import { sessionEgressRoutes } from "./routes/session-egress.ts";
import { sessionHandRoutes } from "./routes/session-hands.ts";
import { sessionSandboxRoutes } from "./routes/session-sandbox.ts";
import { sessionResourceRoutes, sessionRoutes } from "./routes/sessions.ts";
import { skillRoutes } from "./routes/skills.ts";
import { threadRoutes } from "./routes/threads.ts";
import { unbuiltRoutes } from "./routes/unbuilt.ts";
import { vaultRoutes } from "./routes/vaults.ts";
import { workspaceRoutes } from "./routes/workspaces.ts";
import { STREAM_LIMITS, type StreamLimits, Streams } from "./sse.ts";
import { checkVersion } from "./versions.ts";

export interface AppDeps {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly announcements: Announcements;
  readonly secretBox: Pick<SecretBox, "seal">;
  readonly grants: SessionGrants;
  readonly credentialTrials: CredentialTrials;
  readonly secretCarrier: SecretCarrier;
  /** The managers of secrets that hands have; none unless given. */
  readonly secretManagers?: readonly SecretManager[] | undefined;
  readonly cursors: Cursors;
  readonly clock: Clock;
  readonly models: Models;
  readonly prices: PriceList;
  readonly checkpoints: Checkpoints;
  /** Of sandboxes whose session rests; none without hands. */
  readonly liveOutputs?: LiveOutputs | undefined;
  /** What new sessions' sandboxes get of the network that their environment names; all unless given. */
  readonly networkSetting?: NetworkSetting | undefined;
  /** The root file system of new sessions' sandboxes; the host's programs unless given. */
  readonly sandboxBase?: SandboxBase | undefined;
  /** Who makes sandboxes here; bubblewrap unless given. */
  readonly providers?: ServerProviders | undefined;
  /** What sandboxes of Docker and gVisor are made from instead of a root file system; absent for none. */
  readonly dockerImage?: string | undefined;
  /** See `ReplayOptions`. */
  readonly askModel: ReplayOptions["askModel"];
  /** What is known of a model. */
  readonly findModel: FindModel;
  /** Skills that are there for all workspaces. */
  readonly installedSkills: readonly InstalledSkill[];
  /** Where uploads lie while they are checked. */
  readonly scratchFolder: string;
  /** Bytes that the files of a workspace may have in all. */
  readonly filesBytesMax?: number | undefined;
  readonly log: HttpLog;
  /** Aborted when the server stops: open streams end, new ones and `/ready` are refused. */
  readonly shutdown: AbortSignal;
  /** Tells that a session was deleted, whose hand may have to be disposed of. Must not throw. */
  readonly wakeDisposer: () => void;
  readonly streamLimits?: Partial<StreamLimits>;
}

/** The HTTP API on the given adapters. Knows no port and no socket; see `listen`. */
export function createApp(deps: AppDeps): Hono<AppEnv> {
  const { store, log, shutdown } = deps;
  const app = new Hono<AppEnv>();
  app.onError(respondWithError(log));
  app.notFound(respondUnrouted);
  app.use(async (c, next) => {
    const requestId = newId("req");
    c.set("requestId", requestId);
    c.header("request-id", requestId);
    await next();
  });
  app.route("/", healthRoutes(store, shutdown));
  app.route("/", openApiRoutes());
  const keys = createKeys({ store, newId });
  app.use("/v1/*", authenticate(keys), checkVersion(), refuseOddPaths());
  mountResources(app, deps, keys);
  app.route("/", unbuiltRoutes());
  return app;
}

function mountResources(app: Hono<AppEnv>, deps: AppDeps, keys: Keys): void {
  const { store, cursors, clock, log, shutdown } = deps;
  const skillReferences = createSkillReferences(deps.installedSkills);
  const limits = { ...STREAM_LIMITS, ...deps.streamLimits };
  const options = {
    ...deps,
    write: createWrite({ store, clock }),
    streams: new Streams({ limits, log, shutdown }),
    reads: new SharedReads(store.events),
    readers: new StreamReaders(),
    now: () => new Date(clock.now()).toISOString(),
    skillReferences,
    agents: createAgents({ ...deps, newId, skills: skillReferences }),
    environments: createEnvironments({ store, cursors, newId, providers: deps.providers }),
    memoryStores: createMemoryStores({ store, cursors, newId }),
    memories: createMemories({ store, cursors, newId }),
    memoryVersions: createMemoryVersions({ store, cursors }),
    files: createFiles({ ...deps, newId }),
    vaults: createVaults({ store, cursors, newId }),
    credentials: createCredentials({ ...deps, newId }),
    credentialValidator: createCredentialValidator({ ...deps, newId }),
    workspaces: createWorkspaces({ ...deps, newId }),
    keys,
    skills: createSkills({ ...deps, newId }),
  };
  app.route("/", agentRoutes(options));
  app.route("/", environmentRoutes(options));
  app.route("/", memoryStoreRoutes(options));
  app.route("/", memoryRoutes(options));
  app.route("/", modelRoutes(options));
  app.route("/", fileRoutes(options));
  app.route("/", vaultRoutes(options));
  app.route("/", credentialRoutes(options));
  app.route("/", credentialUseRoutes(options));
  app.route("/", skillRoutes(options));
  app.route("/", sessionRoutes(options));
  app.route("/", sessionResourceRoutes(options));
  app.route("/", sessionCopyRoutes(options));
  app.route("/", sessionEgressRoutes(options));
  app.route("/", sessionSandboxRoutes(options));
  app.route("/", sessionHandRoutes(options));
  app.route("/", eventRoutes(options));
  app.route("/", threadRoutes(options));
  app.route("/", workspaceRoutes(options));
}
