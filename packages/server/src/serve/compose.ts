import { join } from "node:path";
import type { Logger } from "pino";
import { collectBlobs } from "../app/blob-collector.ts";
import { createCredentialBroker, grantOf } from "../app/credential-broker.ts";
import { createModels } from "../app/models.ts";
import { createCursors } from "../app/pagination.ts";
import { createGrants } from "../app/session-grants.ts";
import { collectCopies } from "../app/sessions-copy.ts";
import { noteStrayBlobs } from "../app/stray-blobs.ts";
import type { Config } from "../config.ts";
import { modelFinder } from "../core/models/offered-models.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { Store } from "../core/ports/store.ts";
import { priceList } from "../core/pricing/price-list.ts";
import { agentTools } from "../core/tools/agent-tools.ts";
import type { SecretManager } from "../core/vaults/external-reference.ts";
import { LocalHands } from "../hands/protocol/hands-client.ts";
import type { AppDeps } from "../http/app.ts";
import { failPoint } from "../lib/fail-point.ts";
import { newId } from "../lib/new-id.ts";
import { systemClock } from "../lib/system-clock.ts";
import { Models, offeredModels } from "../model/models.ts";
import { askModel } from "../run/ask-model.ts";
import { answerQuestions, type CredentialAnswersDeps } from "../run/credential-answers.ts";
import type { DriveDeps } from "../run/deps.ts";
import { HandDisposer } from "../run/disposer.ts";
import { commitHandReports, type HandReportsDeps } from "../run/hand-reports.ts";
import { SandboxFirst } from "../run/sandbox-first.ts";
import { Scheduler } from "../run/scheduler.ts";
import { LocalBlobs } from "../store/local-blobs.ts";
import { type Database, openDatabase } from "./database.ts";
import { emptyScratch } from "./empty-scratch.ts";
import { openEncryption } from "./encryption.ts";
import { readInstalledSkills } from "./installed-skills.ts";
import { networkMark } from "./network-mark.ts";
import type { Ownership } from "./ownership.ts";
import { policiesOf } from "./policies.ts";
import { signingKey } from "./signing-key.ts";
import { handsSpawner, type SpawnHandsOptions } from "./spawn-hands.ts";

/** Sessions that one process drives at once; more wait until one is done. */
const SESSIONS_MAX = 10_000;
/** A server that stood still for so long is taken for gone, and its sessions for free. */
const LEASE_MS = 15_000;
/** A session whose drive failed beyond giving its turn up is left alone for so long. */
const FAILURE_DELAY_MS = 30_000;

export interface Composition {
  readonly store: Store;
  readonly app: AppDeps;
  readonly scheduler: Scheduler;
  readonly disposer: HandDisposer;
  /** Ends everything but the database. */
  close(): Promise<void>;
  /** To be called last of all. */
  closeDatabase(): Promise<void>;
}

export interface ComposeOptions {
  readonly spawn: SpawnHandsOptions;
  readonly ownership: Ownership;
  readonly log: Logger;
}

/** The one place that knows which adapters the server is made of. */
export async function compose(
  config: Config,
  { spawn, ownership, log }: ComposeOptions,
): Promise<Composition> {
  const blobs = await LocalBlobs.open(join(config.data, "blobs"));
  const uploads = await openUploads(config, blobs, ownership);
  const holder = newId("holder");
  const database = await openDatabase(config, holder, log);
  const { store, announcements } = database;
  const secretBox = await openSecretBox(config, database);
  const hands = openHands(config, spawn);
  const known = openModels(config);
  const { grants, cursors } = await openSigning(store);
  const deps: DriveDeps = {
    store,
    blobs,
    ...{ hands, memoryCopies: hands, mcpServers: hands },
    ...known.toAsk,
    announcements,
    clock: systemClock,
    policies: policiesOf(config),
    ...(config.judgeModel !== undefined && { judgeModel: config.judgeModel }),
    toolsOf: ({ agent }, listing) => agentTools(agent, listing),
    grantOf: (session) => grantOf(session, grants),
    random: Math.random,
    newId,
    ...(config.test.coupled && { sandboxFirst: new SandboxFirst() }),
    failPoint,
    log,
  };
  const scheduler = createScheduler(deps, holder, ownership);
  const disposer = new HandDisposer(deps);
  const shutdown = new AbortController();
  const broker = createCredentialBroker({ store, grants, newId });
  const background = Promise.all([
    attendHands({ ...deps, hands, broker }, shutdown.signal),
    ownership.isShared ? keepWaking(disposer, shutdown.signal) : undefined,
    keepCollecting({ store, blobs, clock: systemClock }, shutdown.signal, log),
  ]);
  return {
    store,
    scheduler,
    disposer,
    app: {
      store,
      blobs,
      announcements,
      secretBox,
      grants,
      ...handsSettings(config),
      ...{ cursors, clock: systemClock },
      ...uploads,
      ...known.toShow,
      ...{ checkpoints: hands, liveOutputs: hands, credentialTrials: hands, secretCarrier: hands },
      askModel: (asked, signal) => askModel(deps, asked, signal),
      log,
      shutdown: shutdown.signal,
      wakeDisposer: () => disposer.wake(),
    },
    close: async () => {
      shutdown.abort();
      const disposed = disposer.close();
      await scheduler.close();
      // What is being disposed of ends only with the hands' line.
      hands.close();
      await Promise.all([disposed, background]);
    },
    closeDatabase: () => database.close(),
  };
}

/** What this server gives out and takes back. */
async function openSigning(store: Store) {
  return {
    grants: createGrants(await signingKey(store, "grants")),
    cursors: createCursors({ key: await signingKey(store, "cursors") }),
  };
}

function secretManagers({ secretsFolder, secretsCommand }: Config): readonly SecretManager[] {
  return [
    ...(secretsFolder === undefined ? [] : (["files"] as const)),
    ...(secretsCommand === undefined ? [] : (["command"] as const)),
  ];
}

/** What new sessions are told that their sandboxes are to be, and where hands find secrets. */
function handsSettings(config: Config) {
  const { sandboxNetwork, sandboxBase, sandboxProviders } = config;
  const { names: providers, dockerImage } = sandboxProviders;
  const sandboxes = { networkSetting: sandboxNetwork, sandboxBase, providers, dockerImage };
  return { ...sandboxes, secretManagers: secretManagers(config) };
}

function createScheduler(deps: DriveDeps, holder: string, ownership: Ownership): Scheduler {
  return new Scheduler(deps, {
    holder,
    // Where one server has the folder's lock, a lease ends with the next server's start.
    leaseMs: ownership.isShared ? LEASE_MS : null,
    ownsStore: () => ownership.stillHeld(),
    sessionsMax: SESSIONS_MAX,
    failureDelayMs: FAILURE_DELAY_MS,
  });
}

/** To be asked, to be listed, and to be looked up. */
function openModels({ model, prices, judgeModel }: Config) {
  const offered = offeredModels(model);
  const findModel = modelFinder(offered);
  const judge = judgeModel === undefined ? undefined : { id: judgeModel };
  const known = { findModel, prices: priceList(findModel, { ...prices, judge }) };
  return {
    toAsk: { model: new Models({ ...model, limits: { silenceMs: model.silenceMs } }), ...known },
    toShow: { models: createModels(offered), ...known },
  };
}

function openHands(config: Config, spawn: SpawnHandsOptions): LocalHands {
  return new LocalHands({
    dataDir: config.data,
    start: handsSpawner(spawn),
    clock: systemClock,
    network: networkMark(config),
    unsafeForgetSentCalls: config.test.unsafe.includes("reattach"),
  });
}

/** Nothing else is open yet that had to be closed if the keys do not fit. */
async function openSecretBox(config: Config, database: Database): Promise<SecretBox> {
  try {
    return (await openEncryption(config, database.store)).box;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Comes before anything is open that had to be closed if a skill is wrong. */
async function openUploads(
  config: Config,
  blobs: Blobs,
  { isShared }: Ownership,
): Promise<Pick<AppDeps, "installedSkills" | "scratchFolder" | "filesBytesMax">> {
  const scratchFolder = join(config.data, "scratch");
  await emptyScratch(scratchFolder, isShared);
  const installedSkills = await readInstalledSkills(config.skills, blobs);
  return { installedSkills, scratchFolder, filesBytesMax: config.filesBytesMax };
}

const DISPOSER_PAUSE_MS = 5 * 60_000;

/** What a server that is gone has left to be disposed of is nobody's news here. */
async function keepWaking(disposer: HandDisposer, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleepUntil(systemClock.now() + DISPOSER_PAUSE_MS, signal);
    disposer.wake();
  }
}

/** What hands have to tell, and what they ask. */
async function attendHands(
  deps: Omit<HandReportsDeps & CredentialAnswersDeps, "hands"> & {
    readonly hands: HandReportsDeps["hands"] & CredentialAnswersDeps["hands"];
  },
  signal: AbortSignal,
): Promise<void> {
  const { log } = deps;
  await Promise.all([
    keepDoing(() => commitHandReports(deps, signal), {
      signal,
      log,
      failure: "what hands keep of idle sandboxes is not recorded",
    }),
    keepDoing(() => answerQuestions(deps, signal), {
      signal,
      log,
      failure: "hands are not answered what they ask of credentials",
    }),
  ]);
}

const COLLECTOR_PAUSE_MS = 60_000;

/** Takes away what nothing refers to: content, and sessions that were left half made. */
async function keepCollecting(
  options: Parameters<typeof collectBlobs>[0] &
    Parameters<typeof noteStrayBlobs>[0] &
    Parameters<typeof collectCopies>[0],
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  await Promise.all([
    keepDoing(() => collectBlobs(options, signal), {
      signal,
      log,
      failure: "a blob that nothing refers to could not be deleted",
    }),
    keepDoing(() => noteStrayBlobs(options, signal), {
      signal,
      log,
      failure: "blobs that nothing refers to could not be looked for",
    }),
    keepDoing(() => collectCopies(options, signal), {
      signal,
      log,
      failure: "a session that was left half made could not be deleted",
    }),
  ]);
}

async function keepDoing(
  work: () => Promise<void>,
  { signal, log, failure }: { signal: AbortSignal; log: DriveDeps["log"]; failure: string },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      log.error({ err: error }, failure);
      await systemClock.sleepUntil(systemClock.now() + COLLECTOR_PAUSE_MS, signal);
    }
  }
}
