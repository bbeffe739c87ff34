import type { Blobs } from "../../core/ports/blobs.ts";
import type { CheckpointOutcome } from "../../core/ports/checkpoints.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CredentialAnswer, SealedOAuth } from "../../core/ports/credential-broker.ts";
import type { TrialOutcome } from "../../core/ports/credential-trials.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import type { HandCall, HandOfSession, OutputFile, Recovered } from "../../core/ports/hands.ts";
import type { McpListing, McpListRequest } from "../../core/ports/mcp-servers.ts";
import type { MemoryOffer } from "../../core/ports/memory-copies.ts";
import type { ProvisionRequest } from "../../core/ports/sandbox.ts";
import type { CarryOutcome, SealedMove } from "../../core/ports/secret-carrier.ts";
import { failPoint } from "../../lib/fail-point.ts";
import type { CheckpointKeeper } from "../checkpoints/checkpoint-keeper.ts";
import type { CheckpointOutbox } from "../checkpoints/checkpoint-outbox.ts";
import type { HandNotes } from "../checkpoints/hand-notes.ts";
import { CheckpointError, takeCheckpoint } from "../checkpoints/take-checkpoint.ts";
import type { QuestionBox, WaitingQuestion } from "../credentials/question-box.ts";
import type { Admission, CallJournal } from "../journal/call-journal.ts";
import type { CallRecord } from "../journal/call-record.ts";
import type { McpClients } from "../mcp/mcp-clients.ts";
import type { HandMemories } from "../memory/hand-memories.ts";
import type { CommittedOutputs } from "../outputs/committed-outputs.ts";
import type { OutputCollector } from "../outputs/output-collector.ts";
import type { OutputLedger } from "../outputs/output-ledger.ts";
import type { HandsService } from "../protocol/hands-server.ts";
import type { CallRunner } from "./call-runner.ts";
import { Deadline } from "./deadline.ts";
import type { LeftBehind } from "./left-behind.ts";
import type { Report } from "./report.ts";
import type { SandboxKeeper } from "./sandbox-keeper.ts";

/** Making the sandbox, reading its files and storing them. */
const CHECKPOINT_MS = 4 * 60_000;
/** Somebody waits for the answer, and asks again. */
const LOOK_MS = 3_000;

export interface CallServiceOptions {
  readonly journal: CallJournal;
  readonly runner: CallRunner;
  readonly left: Pick<LeftBehind, "recover">;
  readonly keeper: SandboxKeeper;
  readonly notes: HandNotes;
  readonly outbox: CheckpointOutbox;
  readonly checkpoints: CheckpointKeeper;
  readonly collector: OutputCollector;
  readonly ledger: OutputLedger;
  readonly committed: Pick<CommittedOutputs, "dispose">;
  readonly blobs: Pick<Blobs, "put">;
  readonly memory: Pick<HandMemories, "offer" | "forget">;
  readonly mcp: Pick<McpClients, "listTools" | "closeHand">;
  readonly clock: Clock;
  readonly report: Report;
  readonly questions: Pick<QuestionBox, "take" | "answer">;
  /** Tries credentials; without it none can be. */
  readonly tryCredential?: ((credential: SealedOAuth) => Promise<TrialOutcome>) | undefined;
  /** Seals secrets for other places; without it none are. */
  readonly carrySecrets?: ((moves: readonly SealedMove[]) => readonly string[]) | undefined;
  readonly onStopRequest: () => void;
  /** Deletes what is kept for a hand beside its sandbox. */
  readonly onDispose?: ((handId: string) => Promise<void>) | undefined;
}

/** What the hands do for those who speak the protocol. */
export class CallService implements HandsService {
  readonly #options: CallServiceOptions;
  #lastHeardMs: number;

  constructor(options: CallServiceOptions) {
    this.#options = options;
    this.#lastHeardMs = options.clock.now();
  }

  /** Since when no server has spoken and no call has run, in milliseconds since 1970. */
  get quietSinceMs(): number {
    return this.#options.journal.running > 0 ? this.#options.clock.now() : this.#lastHeardMs;
  }

  heard(): void {
    this.#lastHeardMs = this.#options.clock.now();
  }

  submit(call: HandCall): Admission {
    const admission = this.#options.journal.admit(call);
    if (admission.type === "new") void this.#run(admission.record);
    return admission;
  }

  find(callId: string): CallRecord | undefined {
    return this.#options.journal.find(callId);
  }

  async wait(
    record: CallRecord,
    { waitMs, outputsAfter }: { waitMs: number; outputsAfter: number | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, ledger } = this.#options;
    const { handId } = record.call;
    if (outputsAfter !== undefined && this.outputsOf(record.call, outputsAfter).length > 0) return;
    const over = new AbortController();
    const found = Promise.withResolvers<void>();
    const offAdded = outputsAfter === undefined ? ignore : ledger.onAdded(handId, found.resolve);
    try {
      const stop = AbortSignal.any([signal, over.signal]);
      const waited = clock.sleepUntil(clock.now() + waitMs, stop);
      await Promise.race([record.ended, waited, found.promise]);
    } finally {
      offAdded();
      over.abort();
    }
  }

  outputsOf({ handId, files }: HandCall, after?: number): readonly OutputFile[] {
    return this.#waiting(handId, files?.line, after);
  }

  /** Until a call for another line has come as far as its files, what waits is still of the one before. */
  #waiting(handId: string, line: number | undefined, after?: number): readonly OutputFile[] {
    const { ledger, notes } = this.#options;
    return notes.isOf(handId, line) ? ledger.waiting(handId, after) : [];
  }

  async settleOutputs(handId: string, to: number): Promise<void> {
    await this.#options.collector.settle(handId, to);
  }

  async recover(hand: HandOfSession): Promise<Recovered | undefined> {
    const { handId, line } = hand;
    const memory = await this.#options.left.recover(hand, line);
    return memory && { ...memory, outputs: this.#waiting(handId, line) };
  }

  async lookAtOutputs(hand: HandOfSession): Promise<readonly OutputFile[]> {
    const { clock, collector, keeper, notes } = this.#options;
    if (!notes.isOf(hand.handId, hand.line)) return [];
    const sandbox = keeper.live(hand.handId);
    if (sandbox !== undefined) {
      using deadline = new Deadline(clock, LOOK_MS);
      // What it does not come to is taken by the next look.
      await Promise.race([collector.collect(sandbox, hand, deadline.signal), deadline.passed]);
    }
    return this.#waiting(hand.handId, hand.line);
  }

  cancel(call: Pick<HandCall, "sessionId" | "callId" | "epoch">): void {
    this.#options.journal.cancel(call);
  }

  settle(callId: string): void {
    this.#options.journal.settle(callId);
  }

  async dispose(handId: string): Promise<void> {
    const { journal, keeper, collector, notes } = this.#options;
    const calls = journal.disposeHand(handId);
    for (const record of calls) record.requestCancel();
    await Promise.all(calls.map((record) => record.ended));
    failPoint("hands.dispose.before_close");
    this.#options.mcp.closeHand(handId);
    // First, so that nobody begins to keep what is being deleted, and makes a folder for that.
    notes.forget(handId);
    await this.#options.onDispose?.(handId);
    await keeper.dispose(handId);
    await collector.forget(handId);
    await this.#options.committed.dispose(handId);
    this.#options.memory.forget(handId);
    failPoint("hands.dispose.after_close");
  }

  async offerMemory(
    handId: string,
    { files, ...offer }: Omit<MemoryOffer, "handId" | "handsBoot">,
  ): Promise<readonly string[]> {
    const { journal, memory, notes } = this.#options;
    // It would bring a folder back.
    if (journal.isDisposed(handId)) return [];
    // It would go with files that the call finds out to be another line's. Where they are gone, no call runs.
    if (files !== undefined && !(await notes.makeWay(handId, files))) return [];
    return await memory.offer(handId, offer);
  }

  async checkpoint(hand: ProvisionRequest): Promise<CheckpointOutcome> {
    const { journal, keeper, blobs, notes } = this.#options;
    const isBusy = journal.runningCalls().some(({ call }) => call.handId === hand.handId);
    if (isBusy) return { type: "refused", message: "a call runs in its sandbox" };
    try {
      const signal = AbortSignal.timeout(CHECKPOINT_MS);
      const lease = await keeper.acquire(notes.requestOf(hand), signal);
      try {
        await notes.filled(hand.handId);
        const { workspaceId } = hand;
        const checkpoint = await takeCheckpoint(lease.sandbox, { blobs, workspaceId }, signal);
        return { type: "taken", checkpoint };
      } finally {
        lease.release();
      }
    } catch (error) {
      if (error instanceof CheckpointError) return { type: "refused", message: error.message };
      this.#options.report("checkpoint_not_taken", { hand_id: hand.handId, error });
      const message = error instanceof Error ? error.message : String(error);
      return { type: "unavailable", message };
    }
  }

  async listTools(request: McpListRequest, signal: AbortSignal): Promise<McpListing> {
    return await this.#options.mcp.listTools(request, signal);
  }

  reports(): readonly HandReport[] {
    return this.#options.outbox.all();
  }

  async acknowledge(handId: string, takenAt: string): Promise<void> {
    await this.#options.checkpoints.acknowledge(handId, takenAt);
  }

  takeQuestions(waitMs: number, signal: AbortSignal): Promise<readonly WaitingQuestion[]> {
    return this.#options.questions.take(waitMs, signal);
  }

  answerQuestion(id: string, answer: CredentialAnswer): void {
    this.#options.questions.answer(id, answer);
  }

  async tryCredential(credential: SealedOAuth): Promise<TrialOutcome> {
    const { tryCredential } = this.#options;
    if (tryCredential !== undefined) return await tryCredential(credential);
    return { type: "unavailable", message: "these hands open no credentials" };
  }

  carrySecrets(moves: readonly SealedMove[]): CarryOutcome {
    const { carrySecrets } = this.#options;
    if (carrySecrets !== undefined) return { type: "carried", sealed: carrySecrets(moves) };
    return { type: "unavailable", message: "these hands open no secrets" };
  }

  requestStop(): void {
    this.#options.onStopRequest();
  }

  reportBug(error: unknown): void {
    this.#options.report("bug", { error });
  }

  /** Ends the calls that run; resolves when each has its outcome. */
  async endCalls(): Promise<void> {
    const calls = this.#options.journal.runningCalls();
    for (const record of calls) record.requestCancel();
    await Promise.all(calls.map((record) => record.ended));
  }

  async #run(record: CallRecord): Promise<void> {
    const outcome = await this.#options.runner.run(record);
    // The silence that ends these hands is counted from here: somebody may be about to ask.
    this.heard();
    this.#options.journal.finish(record, outcome);
    failPoint("hands.call.after_result_stored");
  }
}

function ignore(): void {}
