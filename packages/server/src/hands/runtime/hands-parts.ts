import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Blobs } from "../../core/ports/blobs.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { SealedOAuth } from "../../core/ports/credential-broker.ts";
import type { TrialOutcome } from "../../core/ports/credential-trials.ts";
import type { SandboxProvider } from "../../core/ports/sandbox.ts";
import type { SealedMove } from "../../core/ports/secret-carrier.ts";
import type { CredentialSource } from "../../core/ports/session-credentials.ts";
import {
  CheckpointKeeper,
  type CheckpointKeeperOptions,
} from "../checkpoints/checkpoint-keeper.ts";
import { CheckpointOutbox } from "../checkpoints/checkpoint-outbox.ts";
import { HandNotes } from "../checkpoints/hand-notes.ts";
import { QuestionBox } from "../credentials/question-box.ts";
import { connectDirectly } from "../egress/dial.ts";
import { CallJournal } from "../journal/call-journal.ts";
import { McpClients } from "../mcp/mcp-clients.ts";
import type { WayOptions } from "../mcp/server-connection.ts";
import { HandMemories } from "../memory/hand-memories.ts";
import { CommittedOutputs, type LineOf } from "../outputs/committed-outputs.ts";
import { OutputCollector } from "../outputs/output-collector.ts";
import { OutputLedger } from "../outputs/output-ledger.ts";
import { OutputWatch } from "../outputs/output-watch.ts";
import { CLONE_LIMITS } from "../repositories/clone-repository.ts";
import {
  RepositoryKeeper,
  type RepositoryKeeperOptions,
} from "../repositories/repository-keeper.ts";
import { HandFolder, handsFolderOf } from "../sandbox/local/hand-folder.ts";
import { WarmPool } from "../warm/warm-pool.ts";
import { CallRunner } from "./call-runner.ts";
import { CallService } from "./call-service.ts";
import { type HandsTimes, KEEPING, type Keeping, SANDBOXES_MAX } from "./hands-limits.ts";
import { LeftBehind } from "./left-behind.ts";
import type { Report } from "./report.ts";
import type { RunOutside, RunTool } from "./run-tool.ts";
import { SandboxKeeper } from "./sandbox-keeper.ts";

/** What acts, made by the composition root. */
export interface HandsAdapters {
  readonly provider: SandboxProvider;
  readonly blobs: Blobs;
  readonly runTool: RunTool;
  /** By name, the tools for which no sandbox is made; none unless given. */
  readonly outside?: ReadonlyMap<string, RunOutside>;
  /** How MCP servers are reached; unless given, none is. */
  readonly mcp?: WayOptions;
  /** How repositories are cloned; unless given, none is. */
  readonly repositories?: Pick<RepositoryKeeperOptions, "upstream" | "secretBox">;
  /** What sessions may use of their vaults; unless given, nothing. */
  readonly credentials?: CredentialParts;
  readonly clock: Clock;
  readonly report: Report;
}

/** Made where the adapters are, because it asks servers by the same box as the service lets them take from. */
export interface CredentialParts {
  readonly questions: QuestionBox;
  readonly source: CredentialSource;
  readonly tryCredential: (credential: SealedOAuth) => Promise<TrialOutcome>;
  readonly carrySecrets: (moves: readonly SealedMove[]) => readonly string[];
}

export interface HandsPartsOptions {
  readonly dataDir: string;
  readonly sandboxesMax?: number;
  /** Spare sandboxes that are kept ready; none unless given. */
  readonly sparesMax?: number;
  /** What is kept of idle hands; see `CheckpointKeeper`. */
  readonly keeping?: Partial<Keeping>;
  /** For the fault campaign: a repeated call runs again. */
  readonly unsafeForgetCalls?: boolean;
}

/** All that a hands process is made of, but for how it is found. */
export interface HandsParts {
  readonly service: CallService;
  readonly mcp: Pick<McpClients, "closeIdle" | "close">;
  readonly keeper: SandboxKeeper;
  readonly checkpoints: CheckpointKeeper;
  readonly keeping: Keeping;
}

export interface HandsIdentity {
  readonly times: HandsTimes;
  readonly boot: string;
  readonly installationId: string;
  readonly onStopRequest: () => void;
}

export async function assembleHands(
  options: HandsPartsOptions,
  adapters: HandsAdapters,
  { times, boot, installationId, onStopRequest }: HandsIdentity,
): Promise<HandsParts> {
  const { provider, blobs, runTool, outside = new Map(), clock, report } = adapters;
  const keeping = { ...KEEPING, ...options.keeping };
  const keeper = openKeeper(options, adapters, { times, keeping });
  const { watch, ...outputs } = openOutputs(adapters, {
    ...{ dataDir: options.dataDir, lookMs: times.outputLookMs },
    lineOf: (handId) => files.notes.find(handId)?.note.line,
  });
  const { collector } = outputs;
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
    await collector.forget(handId);
    memory.forget(handId);
  };
  const journal = new CallJournal({
    boot,
    unsafeForgetCalls: options.unsafeForgetCalls ?? false,
  });
  const files = await openFiles(adapters, {
    ...{ keeper, memory, journal, discard, installationId, dataDir: options.dataDir },
    limits: { ...keeping, idleMs: times.sandboxIdleMs },
  });
  const { notes } = files;
  const credentials = adapters.credentials?.source;
  const mcp = new McpClients({ ...(adapters.mcp ?? NO_WAY), credentials, clock });
  const { collectMs } = times;
  const left = new LeftBehind({ keeper, notes, collector, memory, clock, report, collectMs });
  const runner = new CallRunner({
    ...{ keeper, notes, left, watch, memory, runTool, outside, clock, report },
    prepare: repositories?.prepare.bind(repositories),
    credentials,
    mcp: mcp.run.bind(mcp),
    limits: times,
  });
  const service = new CallService({
    ...{ journal, runner, left, keeper },
    ...files,
    ...outputs,
    blobs,
    memory,
    mcp,
    clock,
    report,
    questions: adapters.credentials?.questions ?? new QuestionBox(clock),
    tryCredential: adapters.credentials?.tryCredential,
    carrySecrets: adapters.credentials?.carrySecrets,
    onStopRequest,
    onDispose: repositories?.dispose.bind(repositories),
  });
  return { service, mcp, keeper, checkpoints: files.checkpoints, keeping };
}

const NO_WAY: WayOptions = {
  guard: {
    destinations: async () => ({ type: "refused", message: "these hands reach no MCP servers" }),
  },
  connect: connectDirectly,
  isPlainAllowed: () => false,
};

/** What has the sandboxes, spares among them. */
function openKeeper(
  { dataDir, sandboxesMax = SANDBOXES_MAX, sparesMax = 0 }: HandsPartsOptions,
  { provider, clock, report }: HandsAdapters,
  { times, keeping }: { readonly times: HandsTimes; readonly keeping: Keeping },
): SandboxKeeper {
  const warm = new WarmPool({
    ...{ provider, clock, report, sparesMax },
    provisionDeadlineMs: times.provisionMs,
    isTight: async () =>
      // Twice, so that what is made is not at once too much again.
      process.availableMemory() < 2 * keeping.freeMemoryBytesMin ||
      (await freeDiskBytes(dataDir)) < keeping.freeDiskBytesMin,
  });
  return new SandboxKeeper({
    ...{ provider, warm, clock, report, sandboxesMax },
    provisionDeadlineMs: times.provisionMs,
    installDeadlineMs: times.installMs,
    idleMs: times.sandboxIdleMs,
  });
}

/** What is taken of what sandboxes leave for their users. */
function openOutputs(
  { blobs, clock, report }: HandsAdapters,
  {
    dataDir,
    lookMs,
    lineOf,
  }: { readonly dataDir: string; readonly lookMs: number; readonly lineOf: LineOf },
) {
  const ledger = new OutputLedger(clock.now());
  const committed = new CommittedOutputs({ folder: join(dataDir, "hand-outputs"), lineOf, report });
  const collector = new OutputCollector({ blobs, ledger, committed, report });
  const watch = new OutputWatch({ collector, clock, times: { lookMs } });
  return { ledger, committed, collector, watch };
}

/** What is known and kept of the hands' files. */
async function openFiles(
  { blobs, clock, report }: HandsAdapters,
  given: Pick<CheckpointKeeperOptions, "keeper" | "memory" | "installationId" | "limits"> & {
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
    freeDiskBytes: () => freeDiskBytes(dataDir),
  });
  return { notes, outbox, checkpoints };
}

async function freeDiskBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
