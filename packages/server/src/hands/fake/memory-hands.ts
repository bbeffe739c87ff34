import type { ResultBlock } from "@drover/api";
import {
  type CallOutcome,
  type EgressRecord,
  type HandCall,
  type HandOfSession,
  type Hands,
  type HandsBoot,
  HandsUnavailableError,
  type MemoryReport,
  type OutputFile,
  type Recovered,
  type TakeOutputs,
} from "../../core/ports/hands.ts";
import type {
  McpListing,
  McpListRequest,
  McpServerAddress,
  McpServerListed,
  McpServers,
} from "../../core/ports/mcp-servers.ts";
import type {
  MemoryCopies,
  MemoryOffer,
  MemoryOfferOutcome,
} from "../../core/ports/memory-copies.ts";
import { bootId, installationOf } from "../../core/sandboxes/boot-id.ts";
import { CallJournal, type RefusalReason } from "../journal/call-journal.ts";
import type { CallRecord } from "../journal/call-record.ts";
import { OutputLedger } from "../outputs/output-ledger.ts";

/** A string is the text of a result that is no error. */
export type MemoryToolAnswer =
  | string
  | {
      readonly content: readonly ResultBlock[];
      readonly is_error?: boolean;
      readonly egress?: readonly EgressRecord[];
      readonly memory?: MemoryReport;
      readonly tools_changed?: true;
    };

/**
 * What a tool does. A throw becomes a result with `is_error`. The signal is aborted when the call is
 * cancelled, its hand disposed of or its boot killed; the answer is of no use after that.
 */
export type MemoryTool = (
  call: HandCall,
  signal: AbortSignal,
  leave: (output: LeftOutput) => void,
) => MemoryToolAnswer | Promise<MemoryToolAnswer>;

/** A file in the hand's outputs, found at once. It stays there when the process dies. */
export type LeftOutput = Omit<OutputFile, "found">;

/** One run of one call. Two entries with one `callId` are a broken promise. */
export interface Execution {
  readonly callId: string;
  readonly sessionId: string;
  readonly handId: string;
  readonly name: string;
  readonly boot: string;
  readonly epoch: number;
}

export interface MemoryHandsOptions {
  /** The machine's; `inst_memory_1` unless given. */
  readonly installation?: string;
  /** By name; `"*"` takes the names that have none of their own. */
  readonly tools: Readonly<Record<string, MemoryTool>>;
  /** What an MCP server has when it is asked; there is none at any address unless given. */
  readonly mcp?: MemoryMcpServer;
}

export type MemoryMcpServer = (
  server: McpServerAddress,
  signal: AbortSignal,
) => Omit<McpServerListed, "name"> | Promise<Omit<McpServerListed, "name">>;

interface Life {
  readonly journal: CallJournal;
  readonly ledger: OutputLedger;
  /** Aborted when the process would have died. */
  readonly death: AbortController;
}

/**
 * Hands in the memory of the caller's process, with scripted tools: for tests of the brain. Passes
 * the contract suite of `Hands`. The journal is the real one; there is no process, no sandbox and no
 * socket. Several brains may share one instance, as several servers share one hands process.
 */
export class MemoryHands implements Hands, MemoryCopies, McpServers {
  readonly #tools: Readonly<Record<string, MemoryTool>>;
  readonly #mcp: MemoryMcpServer;
  readonly #executions: Execution[] = [];
  readonly #settled: string[] = [];
  readonly #disposed: string[] = [];
  /** What is in each hand's outputs, by path. */
  readonly #folders = new Map<string, Map<string, LeftOutput>>();
  readonly #offers: MemoryOffer[] = [];
  #boots = 0;
  #life: Life | undefined;
  #startable = true;
  #installation: string;
  /** By hand, the line of its files that is here. */
  readonly #lines = new Map<string, number>();

  constructor(options: MemoryHandsOptions) {
    this.#tools = options.tools;
    this.#mcp = options.mcp ?? (() => UNREACHABLE);
    this.#installation = options.installation ?? "inst_memory_1";
  }

  /** Every run of every call, in order of their beginning, over all boots. */
  get executions(): readonly Execution[] {
    return this.#executions;
  }

  /** The ids of the calls that were settled, in order. */
  get settledCalls(): readonly string[] {
    return this.#settled;
  }

  get disposedHands(): readonly string[] {
    return this.#disposed;
  }

  /** What was offered of memory stores, in order. */
  get offers(): readonly MemoryOffer[] {
    return this.#offers;
  }

  /** The boot that would answer now; undefined while none runs. */
  get boot(): string | undefined {
    return this.#life?.journal.boot;
  }

  /** The process dies with everything in it. The next use starts another boot. */
  kill(): void {
    const life = this.#life;
    this.#life = undefined;
    life?.death.abort();
  }

  /** The process dies and none can be started: everything is `unavailable` until `comeBack`. */
  goAway(): void {
    this.#startable = false;
    this.kill();
  }

  comeBack(): void {
    this.#startable = true;
  }

  /** As if from now on another machine's hands answered, or the disk was lost: no files are here. */
  loseFiles(installation = this.#installation): void {
    this.#installation = installation;
    this.#lines.clear();
    this.kill();
  }

  async locate(handId: string, signal: AbortSignal): Promise<HandsBoot> {
    const life = this.#alive();
    if (signal.aborted) throw new HandsUnavailableError("the search for hands was given up");
    if (!life) throw new HandsUnavailableError("no hands can be started");
    return {
      hand_id: handId,
      hands_boot: life.journal.boot,
      installation_id: this.#installation,
    };
  }

  async execute(
    call: HandCall,
    signal: AbortSignal,
    takeOutputs?: TakeOutputs,
  ): Promise<CallOutcome> {
    if (signal.aborted)
      return { type: "unavailable", message: "the wait for the call was given up" };
    const life = this.#alive();
    if (!life) return { type: "unavailable", message: "no hands can be started" };
    const admission = life.journal.admit(structuredClone(call));
    if (admission.type === "full") return { type: "unavailable", message: admission.message };
    if (admission.type === "refused") return refusal(admission.reason, admission.message);
    if (admission.type === "new") void this.#run(life, admission.record);
    const { record } = admission;
    if (takeOutputs) await this.#giveOutputs(life, record, signal, takeOutputs);
    return await this.#wait(life, record, signal);
  }

  async recover({ handId }: HandOfSession): Promise<Recovered> {
    const life = this.#alive();
    for (const output of this.#folders.get(handId)?.values() ?? [])
      life?.ledger.add(handId, output);
    return { outputs: life?.ledger.waiting(handId) ?? [] };
  }

  async settleOutputs(handId: string, outputs: readonly OutputFile[]): Promise<void> {
    this.#life?.ledger.settle(handId, outputs.at(-1)?.found ?? 0);
  }

  async cancel(
    call: Pick<HandCall, "sessionId" | "callId" | "handsBoot" | "epoch">,
  ): Promise<void> {
    if (this.#life?.journal.boot === call.handsBoot) this.#life.journal.cancel(call);
  }

  async settle(call: Pick<HandCall, "callId" | "handsBoot">): Promise<void> {
    if (this.#life?.journal.boot !== call.handsBoot) return;
    this.#life.journal.settle(call.callId);
    this.#settled.push(call.callId);
  }

  async offer(offer: MemoryOffer): Promise<MemoryOfferOutcome> {
    this.#offers.push(structuredClone(offer));
    return { type: "taken", missing: [] };
  }

  async listTools({ servers }: McpListRequest, signal: AbortSignal): Promise<McpListing> {
    const isAlive = this.#alive() !== undefined;
    const listed = servers.map(async (server) => {
      const asked = Promise.resolve(isAlive ? this.#mcp(server, signal) : UNREACHABLE);
      return { name: server.name, ...((await unlessAborted(asked, signal)) ?? UNREACHABLE) };
    });
    return { servers: await Promise.all(listed) };
  }

  async dispose(handId: string): Promise<boolean> {
    const life = this.#alive();
    if (!life) return false;
    const calls = life.journal.disposeHand(handId);
    for (const record of calls) record.requestCancel();
    await Promise.all(calls.map((record) => record.ended));
    this.#disposed.push(handId);
    return true;
  }

  #alive(): Life | undefined {
    if (!this.#life && this.#startable) {
      this.#boots += 1;
      const journal = new CallJournal({
        boot: bootId(`boot_memory_${this.#boots}`, this.#installation),
      });
      const ledger = new OutputLedger(this.#boots * 1_000_000);
      this.#life = { journal, ledger, death: new AbortController() };
    }
    return this.#life;
  }

  async #run(life: Life, record: CallRecord): Promise<void> {
    const { call } = record;
    record.start();
    const { callId, sessionId, handId, name, epoch } = call;
    this.#executions.push({ callId, sessionId, handId, name, epoch, boot: life.journal.boot });
    const stop = AbortSignal.any([record.cancelSignal, life.death.signal]);
    const outcome = await unlessAborted(this.#answer(life, call, stop), record.cancelSignal);
    life.journal.finish(record, outcome ?? CANCELLED);
  }

  async #answer(life: Life, call: HandCall, signal: AbortSignal): Promise<CallOutcome> {
    const { files, handId } = call;
    if (files !== undefined && this.#lines.get(handId) !== files.line) {
      if (files.is_ahead) return { type: "files_gone" };
      this.#lines.set(handId, files.line);
    }
    const tool = this.#tools[nameOf(call)] ?? this.#tools["*"];
    if (!tool) return result([text(`there is no tool ${call.name}`)], true);
    try {
      const answer = await tool(call, signal, (output) => this.#leave(life, call.handId, output));
      if (typeof answer === "string") return result([text(answer)], false);
      const outcome = result(answer.content, answer.is_error ?? false);
      const { egress, memory, tools_changed } = answer;
      return {
        ...outcome,
        ...(tools_changed !== undefined && { tools_changed }),
        ...(egress !== undefined && { egress }),
        ...(memory !== undefined && { memory }),
      };
    } catch (error) {
      return result([text(error instanceof Error ? error.message : String(error))], true);
    }
  }

  #leave(life: Life, handId: string, output: LeftOutput): void {
    const folder = this.#folders.get(handId) ?? new Map<string, LeftOutput>();
    this.#folders.set(handId, folder.set(output.path, output));
    life.ledger.add(handId, output);
  }

  /** Until the call ends, or nobody waits for it any more. */
  async #giveOutputs(
    life: Life,
    record: CallRecord,
    signal: AbortSignal,
    takeOutputs: TakeOutputs,
  ): Promise<void> {
    const { handId } = record.call;
    const stop = AbortSignal.any([signal, life.death.signal]);
    for (let taken = 0; !record.outcome && !stop.aborted; ) {
      const added = Promise.withResolvers<void>();
      const off = life.ledger.onAdded(handId, added.resolve);
      const outputs = life.ledger.waiting(handId, taken);
      if (outputs.length === 0)
        await unlessAborted(Promise.race([added.promise, record.ended]), stop);
      off();
      const newest = outputs.at(-1);
      if (newest && (await takeOutputs(outputs))) taken = newest.found;
      else await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #wait(life: Life, record: CallRecord, signal: AbortSignal): Promise<CallOutcome> {
    const stop = AbortSignal.any([signal, life.death.signal]);
    const outcome = record.outcome ?? (await unlessAborted(record.ended, stop));
    if (outcome && !life.death.signal.aborted) {
      if (outcome.type !== "result") return structuredClone(outcome);
      return { ...structuredClone(outcome), outputs: life.ledger.waiting(record.call.handId) };
    }
    if (signal.aborted)
      return { type: "unavailable", message: "the wait for the call was given up" };
    if (!this.#startable) return { type: "unavailable", message: "the hands do not answer" };
    return installationOf(life.journal.boot) === this.#installation
      ? { type: "lost", message: LOST_MESSAGE }
      : { type: "out_of_reach", message: OUT_OF_REACH_MESSAGE };
  }
}

const UNREACHABLE: Omit<McpServerListed, "name"> = {
  tools: [],
  error: { type: "connection", message: "there is no server" },
};

/** Of an MCP tool `server/tool`, as the two call each other. */
function nameOf({ name, settings }: HandCall): string {
  return settings?.type === "mcp" ? `${settings.server.name}/${settings.tool}` : name;
}

const LOST_MESSAGE =
  "The hands died while this call ran. Whether it took effect is unknown; it will not be run again.";

const OUT_OF_REACH_MESSAGE =
  "Another machine has this call, which may still run there. It will not be run again.";

const CANCELLED: CallOutcome = {
  type: "result",
  content: [text("The call was cancelled.")],
  is_error: true,
  outputs: [],
  cancelled: true,
};

function refusal(reason: RefusalReason, message: string): CallOutcome {
  if (reason === "stale_boot") return { type: "lost", message: LOST_MESSAGE };
  if (reason === "foreign_boot") return { type: "out_of_reach", message: OUT_OF_REACH_MESSAGE };
  return { type: "refused", message };
}

function result(
  content: readonly ResultBlock[],
  is_error: boolean,
): Extract<CallOutcome, { type: "result" }> {
  return { type: "result", content, is_error, outputs: [], cancelled: false };
}

function text(value: string): ResultBlock {
  return { type: "text", text: value };
}

/** What comes of it, or undefined if the signal is aborted first. Leaves no listener: it would keep the signal. */
async function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = Promise.withResolvers<undefined>();
  const onAbort = () => aborted.resolve(undefined);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([result, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
