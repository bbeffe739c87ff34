import type { CallOutcome, HandCall } from "../../core/ports/hands.ts";
import { installationOf } from "../../core/sandboxes/boot-id.ts";
import { RESULT_BYTES_MAX } from "../protocol/messages.ts";
import { CallRecord } from "./call-record.ts";
import { type JournalLimits, SessionCalls } from "./session-calls.ts";

/**
 * Why a call is not taken. `stale_boot` alone also says that an earlier boot's doings are over; of a `foreign_boot`,
 * which was or is another machine's, nothing is known here.
 */
export type RefusalReason =
  | "stale_boot"
  | "foreign_boot"
  | "stale_epoch"
  | "cancelled"
  | "settled"
  | "disposed"
  | "mismatch";

export type Admission =
  | { readonly type: "new"; readonly record: CallRecord }
  | { readonly type: "known"; readonly record: CallRecord }
  | { readonly type: "refused"; readonly reason: RefusalReason; readonly message: string }
  /** Nothing was started for want of room; the same call may be taken later. */
  | { readonly type: "full"; readonly message: string };

export interface CallJournalOptions {
  readonly boot: string;
  readonly limits?: Partial<JournalLimits>;
  /**
   * Forgets that a call was ever there, so that a repeated one runs again. It exists for the fault
   * campaign, which must catch it.
   */
  readonly unsafeForgetCalls?: boolean;
}

const DEFAULT_LIMITS: JournalLimits = {
  openCallsPerSession: 256,
  rememberedIdsPerSession: 1_000,
  sessions: 5_000,
  openCalls: 2_000,
  resultBytes: RESULT_BYTES_MAX,
  heldBytes: 512 * 1024 * 1024,
  outputTailBytes: 64 * 1024,
};
const DISPOSED_HANDS_MAX = 10_000;

/**
 * What became of each call sent to one life of the hands process: accepted, running, done, settled.
 * It makes a repeated send harmless and a late one refused.
 *
 * It is in memory on purpose. Whatever a call had started dies with the process that owns its
 * sandbox, so after a restart a written journal could only say "unknown", which is what a new boot
 * id says already, without a disk write before every call. Its promise is therefore per boot.
 */
export class CallJournal {
  readonly boot: string;
  readonly #limits: JournalLimits;
  readonly #unsafeForgetCalls: boolean;
  /** In order of last use, so that the oldest quiet session is forgotten first. */
  readonly #sessions = new Map<string, SessionCalls>();
  /** Calls whose result is not settled, by id. */
  readonly #open = new Map<string, CallRecord>();
  readonly #disposedHands = new Set<string>();
  #running = 0;
  #heldBytes = 0;

  constructor(options: CallJournalOptions) {
    this.boot = options.boot;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#unsafeForgetCalls = options.unsafeForgetCalls ?? false;
  }

  /** Accepted calls that have not ended. */
  get running(): number {
    return this.#running;
  }

  /** Takes the call, finds it, or says why not. Only `new` is to be run. */
  admit(call: HandCall): Admission {
    if (call.handsBoot !== this.boot) return this.#refuseOtherBoots(call);
    const session = this.#session(call.sessionId);
    if (!session.raiseEpoch(call.epoch)) {
      return refused("stale_epoch", `session ${call.sessionId} is held under a higher epoch`);
    }
    const known = this.#open.get(call.callId);
    if (known && !this.#unsafeForgetCalls) return readmit(known, call);
    return this.#refusal(session, call) ?? this.#accept(session, call);
  }

  find(callId: string): CallRecord | undefined {
    return this.#open.get(callId);
  }

  /**
   * Asks the call to end. One that has not arrived is remembered and refused when it does; a lower
   * epoch than seen is ignored, because a thawed brain must not end its successor's calls.
   */
  cancel(call: Pick<HandCall, "sessionId" | "callId" | "epoch">): void {
    const session = this.#session(call.sessionId);
    if (!session.raiseEpoch(call.epoch)) return;
    const record = this.#open.get(call.callId);
    if (!record) session.remember(call.callId, "cancelled");
    else if (record.call.sessionId === call.sessionId) record.requestCancel();
  }

  /** Stores the outcome for everybody who waits for it and whoever asks later. */
  finish(record: CallRecord, outcome: CallOutcome): void {
    if (record.outcome) return;
    this.#running -= 1;
    const stored = this.#bounded(outcome);
    this.#heldBytes += stored.bytes;
    record.finish(stored.outcome, stored.bytes);
    if (record.isSettled) this.#drop(record);
  }

  /**
   * A result for the call is committed in the log: it is dropped, its id stays known. One that still
   * runs, because its brain gave up on it, is dropped when it ends.
   */
  settle(callId: string): void {
    const record = this.#open.get(callId);
    record?.settle();
    if (record?.outcome) this.#drop(record);
  }

  isDisposed(handId: string): boolean {
    return this.#disposedHands.has(handId);
  }

  /** Refuses whatever comes for the hand from now on; returns its calls that have not ended. */
  disposeHand(handId: string): readonly CallRecord[] {
    this.#disposedHands.delete(handId);
    this.#disposedHands.add(handId);
    dropOldest(this.#disposedHands, DISPOSED_HANDS_MAX);
    return this.runningCalls().filter((record) => record.call.handId === handId);
  }

  /**
   * True while a call of the hand has not ended, or its result is not settled. Calls for files of another line are
   * nothing to it: another machine may have answered them, so that nobody ever settles them here.
   */
  isBusy(handId: string, line: number): boolean {
    return [...this.#open.values()].some(
      ({ call }) => call.handId === handId && (call.files?.line ?? line) === line,
    );
  }

  runningCalls(): readonly CallRecord[] {
    return [...this.#open.values()].filter((record) => !record.outcome);
  }

  #drop(record: CallRecord): void {
    const { callId, sessionId } = record.call;
    if (this.#open.get(callId) !== record) return;
    this.#open.delete(callId);
    this.#heldBytes -= record.resultBytes;
    this.#session(sessionId).settled(callId);
  }

  /** Results are held until they are committed, so their size is limited whatever a tool gave. */
  #bounded(outcome: CallOutcome): { outcome: CallOutcome; bytes: number } {
    const bytes = byteLength(outcome);
    const { resultBytes } = this.#limits;
    if (bytes <= resultBytes || outcome.type !== "result") return { outcome, bytes };
    const text = `The call ended, but its result of ${bytes} bytes is larger than ${resultBytes} and was dropped.`;
    const told = { ...outcome, content: [{ type: "text" as const, text }], is_error: true };
    return { outcome: told, bytes: byteLength(told) };
  }

  #refuseOtherBoots({ callId, handsBoot }: HandCall): Admission {
    const installation = installationOf(this.boot);
    return installation !== undefined && installationOf(handsBoot) === installation
      ? refused("stale_boot", `call ${callId} was sent to an earlier boot of these hands`)
      : refused("foreign_boot", `call ${callId} was sent to hands of another machine`);
  }

  #refusal(session: SessionCalls, call: HandCall): Admission | undefined {
    const past = session.past(call.callId);
    if (past === "settled" && !this.#unsafeForgetCalls) {
      return refused("settled", `call ${call.callId} ran already and its result is committed`);
    }
    if (past === "cancelled") {
      return refused("cancelled", `call ${call.callId} was cancelled before it arrived`);
    }
    if (this.#disposedHands.has(call.handId)) {
      return refused("disposed", `hand ${call.handId} was disposed of`);
    }
    return undefined;
  }

  #accept(session: SessionCalls, call: HandCall): Admission {
    const { openCalls, openCallsPerSession, outputTailBytes, heldBytes } = this.#limits;
    const hasRoom = this.#open.size < openCalls && session.openCalls < openCallsPerSession;
    if (!hasRoom || this.#heldBytes >= heldBytes) {
      return { type: "full", message: "these hands hold too many results that are not committed" };
    }
    const record = new CallRecord(call, outputTailBytes);
    this.#open.set(call.callId, record);
    session.opened();
    this.#running += 1;
    return { type: "new", record };
  }

  #session(sessionId: string): SessionCalls {
    const session = this.#sessions.get(sessionId) ?? new SessionCalls(this.#limits);
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    this.#forgetQuietSessions();
    return session;
  }

  #forgetQuietSessions(): void {
    if (this.#sessions.size <= this.#limits.sessions) return;
    for (const [id, session] of this.#sessions) {
      if (session.openCalls > 0) continue;
      this.#sessions.delete(id);
      return;
    }
  }
}

function readmit(record: CallRecord, call: HandCall): Admission {
  if (record.call.sessionId === call.sessionId && record.call.handId === call.handId) {
    return { type: "known", record };
  }
  return refused("mismatch", `call ${call.callId} belongs to another session or hand`);
}

function byteLength(outcome: CallOutcome): number {
  return Buffer.byteLength(JSON.stringify(outcome));
}

function refused(reason: RefusalReason, message: string): Admission {
  return { type: "refused", reason, message };
}

function dropOldest(set: Set<string>, max: number): void {
  for (const oldest of set) {
    if (set.size <= max) return;
    set.delete(oldest);
  }
}
