import { randomBytes } from "node:crypto";
import { chmod, mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Blobs } from "../../core/ports/blobs.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { SandboxProvider } from "../../core/ports/sandbox.ts";
import { bootId } from "../../core/sandboxes/boot-id.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { acquireFileLock, type FileLock } from "../../lib/file-lock.ts";
import { newId } from "../../lib/new-id.ts";
import { OperatorError } from "../../lib/operator-error.ts";
import {
  CheckpointKeeper,
  type CheckpointKeeperOptions,
  type CheckpointLimits,
} from "../checkpoints/checkpoint-keeper.ts";
import { CheckpointOutbox } from "../checkpoints/checkpoint-outbox.ts";
import { HandNotes } from "../checkpoints/hand-notes.ts";
import { CallJournal } from "../journal/call-journal.ts";
import { HandMemories } from "../memory/hand-memories.ts";
import { OutputCollector } from "../outputs/output-collector.ts";
import { OutputLedger } from "../outputs/output-ledger.ts";
import { OUTPUT_WATCH_TIMES, OutputWatch } from "../outputs/output-watch.ts";
import {
  installationId,
  PROTOCOL_VERSION,
  processStart,
  readHandsFile,
  removeHandsFile,
  socketPath,
  writeHandsFile,
} from "../protocol/hands-file.ts";
import { HandsServer } from "../protocol/hands-server.ts";
import { CLONE_LIMITS } from "../repositories/clone-repository.ts";
import {
  RepositoryKeeper,
  type RepositoryKeeperOptions,
} from "../repositories/repository-keeper.ts";
import { HandFolder, handsFolderOf } from "../sandbox/local/hand-folder.ts";
import { type CallLimits, CallRunner, type RunOutside, type RunTool } from "./call-runner.ts";
import { CallService } from "./call-service.ts";
import { Deadline } from "./deadline.ts";
import { guardLife } from "./life-guard.ts";
import type { Report } from "./report.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";

/** What acts, made by the composition root. */
export interface HandsAdapters {
  readonly provider: SandboxProvider;
  readonly blobs: Blobs;
  readonly runTool: RunTool;
  /** By name, the tools for which no sandbox is made; none unless given. */
  readonly outside?: ReadonlyMap<string, RunOutside>;
  /** How repositories are cloned; unless given, none is. */
  readonly repositories?: Pick<RepositoryKeeperOptions, "upstream" | "secretBox">;
  readonly clock: Clock;
  readonly report: Report;
}

export interface HandsTimes extends CallLimits {
  /** These hands end when no server has spoken and no call has run for so long. */
  readonly quietMs: number;
  /** Between two looks at the lock, `hands.json` and idle sandboxes. */
  readonly lookMs: number;
  readonly sandboxIdleMs: number;
  /** Between two looks at what a running command has left for its user, at least. */
  readonly outputLookMs: number;
  readonly provisionMs: number;
  /** For one whose packages may have to be installed first. */
  readonly installMs: number;
  /** For an orderly end; what is left after it dies with the process. */
  readonly endMs: number;
}

export const HANDS_TIMES: HandsTimes = {
  quietMs: 10 * 60_000,
  lookMs: 1_000,
  sandboxIdleMs: 30 * 60_000,
  outputLookMs: OUTPUT_WATCH_TIMES.lookMs,
  provisionMs: 30_000,
  installMs: 60 * 60_000,
  endMs: 15_000,
  callMs: 15 * 60_000,
  bashCallMs: (10 * 60 + 15) * 60_000,
  stopGraceMs: 10_000,
  collectMs: 60_000,
};

export interface HandsLifeOptions {
  readonly dataDir: string;
  /** Called once the data folder is these hands' alone. */
  readonly openAdapters: () => Promise<HandsAdapters>;
  /** Aborted for an orderly end. */
  readonly signal: AbortSignal;
  readonly times?: Partial<HandsTimes>;
  readonly sandboxesMax?: number;
  /** What is kept of idle hands; see `CheckpointKeeper`. */
  readonly keeping?: Partial<Keeping>;
  /** See `HandsFile`. */
  readonly network?: string;
  /** For the fault campaign: a repeated call runs again. */
  readonly unsafeForgetCalls?: boolean;
}

/** Another process has the hands of this data folder. */
export class HandsRunningError extends OperatorError {
  constructor(dataDir: string) {
    super(
      `Other hands run for ${dataDir} already. End them with \`drover stop --hands\`, or use another data folder.`,
    );
    this.name = "HandsRunningError";
  }
}

const SANDBOXES_MAX = 256;

interface Keeping extends Omit<CheckpointLimits, "idleMs"> {
  /** Below so much free memory the sandbox that was not used for the longest time is ended. */
  readonly freeMemoryBytesMin: number;
}

const GIB = 1024 * 1024 * 1024;

export const KEEPING: Keeping = {
  checkpointBytesMax: 4 * GIB,
  cacheBytesMax: 20 * GIB,
  freeDiskBytesMin: GIB,
  freeMemoryBytesMin: GIB / 4,
};

/**
 * The life of a hands process: it owns the sandboxes of one data folder and runs the calls that are
 * sent to it, until it is asked to end or has no more business to live. Resolves when everything it started is
 * gone. Rejects with `HandsRunningError`, or when the sandboxes of an earlier boot cannot be proved
 * gone: then nobody may find these hands.
 */
export async function liveAsHands(options: HandsLifeOptions): Promise<void> {
  const { dataDir } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  failPoint("hands.start.before_lock");
  const lock = acquireFileLock(join(dataDir, "hands.lock"));
  if (!lock) throw new HandsRunningError(dataDir);
  failPoint("hands.start.after_lock");
  await runWithLock(options, lock);
  // Only after an orderly end. If something threw, what was started may still be alive: then the lock
  // goes with this process, and takes everything it started along.
  lock.release();
}

async function runWithLock(options: HandsLifeOptions, lock: FileLock): Promise<void> {
  const { dataDir, signal } = options;
  const times = { ...HANDS_TIMES, ...options.times };
  const installation = await installationId(dataDir);
  const adapters = await options.openAdapters();
  const { provider, clock, report } = adapters;
  await provider.reap();
  failPoint("hands.start.after_reap");
  const boot = bootId(newId("boot"), installation);
  const token = randomBytes(32).toString("base64url");
  const stop = new AbortController();
  const parts = await assemble(options, adapters, {
    ...{ times, boot, installationId: installation },
    onStopRequest: () => stop.abort(),
  });
  const server = new HandsServer({
    service: parts.service,
    token,
    boot,
    installationId: installation,
  });
  let reason: string | undefined;
  try {
    await publish(dataDir, server, {
      installation,
      boot,
      token,
      ...(options.network !== undefined && { network: options.network }),
    });
    report("started", { boot, pid: process.pid });
    const ended = AbortSignal.any([signal, stop.signal]);
    reason = await guardLife(
      {
        clock,
        everyMs: times.lookMs,
        quietMs: times.quietMs,
        quietSinceMs: () => parts.service.quietSinceMs,
        isLockHeld: () => lock.stillHeld(),
        isPublished: async () => (await readHandsFile(dataDir))?.boot === boot,
        onLook: () => look(parts),
        onProblem: (error) => {
          report("look_failed", { error });
          return undefined;
        },
      },
      ended,
    );
  } finally {
    report("ending", { boot, reason: reason ?? "asked to" });
    await removeHandsFile(dataDir, boot);
    await end(parts, server, clock, times.endMs);
    report("ended", { boot });
  }
}

interface Parts {
  readonly service: CallService;
  readonly keeper: SandboxKeeper;
  readonly checkpoints: CheckpointKeeper;
  readonly keeping: Keeping;
}

interface Identity {
  readonly times: HandsTimes;
  readonly boot: string;
  readonly installationId: string;
  readonly onStopRequest: () => void;
}

async function assemble(
  options: HandsLifeOptions,
  adapters: HandsAdapters,
  { times, boot, installationId, onStopRequest }: Identity,
): Promise<Parts> {
  const { provider, blobs, runTool, outside = new Map(), clock, report } = adapters;
  const keeper = new SandboxKeeper({
    provider,
    clock,
    report,
    sandboxesMax: options.sandboxesMax ?? SANDBOXES_MAX,
    provisionDeadlineMs: times.provisionMs,
    installDeadlineMs: times.installMs,
    idleMs: times.sandboxIdleMs,
  });
  const ledger = new OutputLedger(clock.now());
  const collector = new OutputCollector({ blobs, ledger, report });
  const watch = new OutputWatch({ collector, clock, times: { lookMs: times.outputLookMs } });
  const repositories =
    adapters.repositories &&
    new RepositoryKeeper({
      ...adapters.repositories,
      ...{ provider, clock, report, limits: CLONE_LIMITS },
    });
  const memory = new HandMemories({
    handFolder: (handId) => new HandFolder(handsFolderOf(options.dataDir), handId).path,
    report,
  });
  const discard = async (handId: string) => {
    await repositories?.dispose(handId);
    await keeper.dispose(handId);
    collector.forget(handId);
    memory.forget(handId);
  };
  const journal = new CallJournal({
    boot,
    unsafeForgetCalls: options.unsafeForgetCalls ?? false,
  });
  const keeping = { ...KEEPING, ...options.keeping };
  const files = await openFiles(adapters, {
    ...{ keeper, journal, discard, installationId, dataDir: options.dataDir },
    limits: { ...keeping, idleMs: times.sandboxIdleMs },
  });
  const tools = {
    memory,
    runTool,
    outside,
    notes: files.notes,
    prepare: repositories?.prepare.bind(repositories),
  };
  const runner = new CallRunner({
    keeper,
    collector,
    watch,
    ...tools,
    clock,
    report,
    limits: times,
  });
  const service = new CallService({
    journal,
    runner,
    keeper,
    ...files,
    collector,
    ledger,
    blobs,
    memory,
    clock,
    report,
    onStopRequest,
    onDispose: repositories?.dispose.bind(repositories),
  });
  return { service, keeper, checkpoints: files.checkpoints, keeping };
}

/** What is known and kept of the hands' files. */
async function openFiles(
  { blobs, clock, report }: HandsAdapters,
  given: Pick<CheckpointKeeperOptions, "keeper" | "installationId" | "limits"> & {
    readonly dataDir: string;
    readonly journal: CallJournal;
    readonly discard: (handId: string) => Promise<void>;
  },
) {
  const { dataDir, journal, discard, ...rest } = given;
  const notes = new HandNotes({ handsFolder: join(dataDir, "hands"), clock, report, discard });
  const folder = join(dataDir, "hand-reports");
  const outbox = await CheckpointOutbox.open({ folder, report }, blobs);
  const checkpoints = new CheckpointKeeper({
    ...{ ...rest, notes, outbox, blobs, clock, report },
    isBusy: (handId, line) => journal.isBusy(handId, line),
    freeDiskBytes: async () => {
      const { bavail, bsize } = await statfs(dataDir);
      return bavail * bsize;
    },
  });
  return { notes, outbox, checkpoints };
}

function look({ keeper, checkpoints, keeping }: Parts): void {
  keeper.closeIdle();
  if (process.availableMemory() < keeping.freeMemoryBytesMin) keeper.closeOldest();
  checkpoints.look();
}

/** From here on these hands are found: only after the sandboxes of earlier boots are proved gone. */
async function publish(
  dataDir: string,
  server: HandsServer,
  identity: { installation: string; boot: string; token: string; network?: string },
): Promise<void> {
  const path = socketPath(dataDir);
  // An earlier boot's, for the lock is ours.
  if (path !== undefined) await rm(path, { force: true });
  const address = await server.listen(path);
  if (address.type === "socket") await chmod(address.path, 0o600);
  failPoint("hands.start.after_listen");
  await writeHandsFile(dataDir, {
    installation_id: identity.installation,
    boot: identity.boot,
    pid: process.pid,
    pid_start: await processStart(process.pid),
    address,
    token: identity.token,
    protocol: PROTOCOL_VERSION,
    ...(identity.network !== undefined && { network: identity.network }),
  });
  failPoint("hands.start.after_publish");
}

async function end(parts: Parts, server: HandsServer, clock: Clock, endMs: number): Promise<void> {
  using deadline = new Deadline(clock, endMs);
  const missed = deadline.passed.then(() => {
    throw new Error(`the hands did not end within ${endMs} ms`);
  });
  await Promise.race([endOrderly(parts, server), missed]);
}

async function endOrderly(
  { service, keeper, checkpoints }: Parts,
  server: HandsServer,
): Promise<void> {
  await server.close();
  await service.endCalls();
  await keeper.closeAll();
  await checkpoints.rest();
}
