import { createHash } from "node:crypto";
import type { Blobs } from "../../core/ports/blobs.ts";
import { type FileStat, type Sandbox, SandboxGoneError } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import type { Report } from "../runtime/report.ts";
import type { CommittedOutput, CommittedOutputs } from "./committed-outputs.ts";
import { contentOf, isPlainPath, OUTPUTS_FOLDER, pathBelow } from "./output-file.ts";
import type { OutputLedger } from "./output-ledger.ts";

export interface OutputLimits {
  /** Files looked at below the folder; those beyond are not collected. */
  readonly files: number;
  /** Bytes of one file; a larger one is not collected. */
  readonly fileBytes: number;
  /** Bytes taken in one look; the rest waits for the next. */
  readonly callBytes: number;
  /** Bytes of one file's path. */
  readonly pathBytes: number;
}

export const OUTPUT_LIMITS: OutputLimits = {
  files: 1_000,
  fileBytes: 500 * 1024 * 1024,
  callBytes: 2 * 1024 * 1024 * 1024,
  pathBytes: 1_024,
};

export interface OutputCollectorOptions {
  readonly blobs: Blobs;
  /** Where what was taken waits to be committed. */
  readonly ledger: OutputLedger;
  /** What of it was committed. */
  readonly committed: CommittedOutputs;
  readonly report: Report;
  readonly limits?: Partial<OutputLimits>;
}

export interface HandOfOutputs {
  readonly workspaceId: string;
  readonly handId: string;
}

export interface Collected {
  readonly files: number;
  readonly bytes: number;
}

/** As it was when it was taken, or found to be what is committed. */
interface KnownFile {
  readonly version: string;
  /** Its place in the ledger; undefined for what did not have to be taken. */
  readonly found: number | undefined;
}

export interface CollectOptions {
  /** Only files that are as they were at the look before: while a command runs it may be writing them. */
  readonly onlySettled?: boolean;
  /** At most so much, where that is less than the limits of a look. */
  readonly room?: Collected;
}

/**
 * Takes the files that an agent left for its user out of the sandbox and into the blob store, each until it is
 * committed. Then it is left alone until its content changes, also by later processes, because its user
 * may have deleted it.
 */
export class OutputCollector {
  readonly #blobs: Blobs;
  readonly #ledger: OutputLedger;
  readonly #committed: CommittedOutputs;
  readonly #report: Report;
  readonly #limits: OutputLimits;
  /** What was taken or found as committed of each path, by hand. */
  readonly #known = new Map<string, ReadonlyMap<string, KnownFile>>();
  /** The version in which each path was seen last and not taken, by hand. */
  readonly #seen = new Map<string, ReadonlyMap<string, string>>();
  /** One collection a hand at a time, so that calls that end together do not take a file twice. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(options: OutputCollectorOptions) {
    this.#blobs = options.blobs;
    this.#ledger = options.ledger;
    this.#committed = options.committed;
    this.#report = options.report;
    this.#limits = { ...OUTPUT_LIMITS, ...options.limits };
  }

  /**
   * Takes the files that are new or changed since the hand's last collection, and says how much that was.
   * Never rejects: what cannot be taken now, because it is being written, the store is full or the
   * signal is aborted, is tried again next time.
   */
  async collect(
    sandbox: Sandbox,
    hand: HandOfOutputs,
    signal: AbortSignal,
    options: CollectOptions = {},
  ): Promise<Collected> {
    const before = this.#turns.get(hand.handId) ?? Promise.resolve();
    const turn = before.then(() => this.#collect(sandbox, hand, signal, options));
    this.#turns.set(hand.handId, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(hand.handId) === turn) this.#turns.delete(hand.handId);
    }
  }

  /** What waits up to this place is committed. Durable when it resolves; rejects where it cannot be. */
  async settle(handId: string, to: number): Promise<void> {
    const files = this.#known.get(handId);
    const committed = this.#ledger.settle(handId, to).flatMap(({ found, ...output }) => {
      const file = files?.get(`${OUTPUTS_FOLDER}/${output.path}`);
      return file?.found === found ? [{ ...output, version: file.version }] : [];
    });
    await this.#committed.put(handId, committed);
  }

  /** The hand's files are gone from here; what was committed of them holds should they come back. */
  async forget(handId: string): Promise<void> {
    // What was read to its end before the sandbox was would come after.
    await this.#turns.get(handId);
    this.#known.delete(handId);
    this.#seen.delete(handId);
    this.#ledger.forget(handId);
  }

  get #room(): Collected {
    return { files: this.#limits.files, bytes: this.#limits.callBytes };
  }

  async #collect(
    sandbox: Sandbox,
    hand: HandOfOutputs,
    signal: AbortSignal,
    { onlySettled = false, room = this.#room }: CollectOptions,
  ): Promise<Collected> {
    const { handId } = hand;
    const taken = { files: 0, bytes: 0 };
    try {
      const files = await this.#list(sandbox, hand);
      const known = this.#knownOf(handId, files);
      const seen = this.#seen.get(handId);
      this.#seen.set(handId, new Map(files.map(({ path, version }) => [path, version])));
      const foundAgain: CommittedOutput[] = [];
      const bytesMax = Math.min(this.#limits.callBytes, room.bytes);
      const isDue = ({ path, version }: FileStat) =>
        known.get(path)?.version !== version && (!onlySettled || seen?.get(path) === version);
      for (const file of files.filter(isDue)) {
        if (signal.aborted || taken.files === room.files) break;
        if (taken.bytes + file.size_bytes > bytesMax) continue;
        const same = await this.#findCommitted(sandbox, hand, file, signal);
        if (same !== undefined) {
          known.set(file.path, { version: file.version, found: undefined });
          foundAgain.push(same);
          continue;
        }
        if (!this.#hasPlace(hand)) break;
        const found = await this.#take(sandbox, hand, file, signal);
        if (found === undefined) continue;
        taken.files += 1;
        taken.bytes += file.size_bytes;
        known.set(file.path, { version: file.version, found });
      }
      await this.#committed.put(handId, foundAgain);
    } catch (error) {
      this.#report("outputs_not_collected", { hand_id: handId, error });
    }
    return taken;
  }

  /** What is known of the files that are still there: only that is remembered, which bounds the memory. */
  #knownOf(handId: string, files: readonly FileStat[]): Map<string, KnownFile> {
    const before = this.#known.get(handId);
    const known = new Map<string, KnownFile>();
    for (const { path } of files) {
      const file = before?.get(path);
      if (file !== undefined) known.set(path, file);
    }
    this.#known.set(handId, known);
    return known;
  }

  /** Where no server commits anything for long, names that come and go must not fill the memory. */
  #hasPlace({ handId }: HandOfOutputs): boolean {
    if (this.#ledger.size(handId) < this.#limits.files) return true;
    this.#report("outputs_wait", { hand_id: handId, limit: this.#limits.files });
    return false;
  }

  async #list(sandbox: Sandbox, hand: HandOfOutputs): Promise<readonly FileStat[]> {
    const all = await sandbox.list(OUTPUTS_FOLDER, this.#limits.files);
    if (all.length >= this.#limits.files) {
      this.#report("outputs_too_many", { hand_id: hand.handId, limit: this.#limits.files });
    }
    const files = all.filter((file) => file.type === "file" && this.#isAcceptable(file, hand));
    if (all.length < this.#limits.files) {
      await this.#committed.keepOnly(hand.handId, new Set(files.map(pathBelow)));
    }
    return files;
  }

  #isAcceptable(file: FileStat, hand: HandOfOutputs): boolean {
    const { fileBytes, pathBytes } = this.#limits;
    if (!isPlainPath(file.path) || Buffer.byteLength(file.path) > pathBytes) return false;
    if (file.size_bytes <= fileBytes) return true;
    this.#report("output_too_large", { hand_id: hand.handId, path: file.path, limit: fileBytes });
    return false;
  }

  /**
   * What was committed of the path, if that is what is there now. It is read only where something wrote it or put it
   * there anew, as the files of a sandbox that came back.
   */
  async #findCommitted(
    sandbox: Sandbox,
    { handId }: HandOfOutputs,
    file: FileStat,
    signal: AbortSignal,
  ): Promise<CommittedOutput | undefined> {
    const path = pathBelow(file);
    const output = this.#committed.find(handId, path);
    // Of what waits meanwhile nobody knows yet whether it will be committed after that.
    if (output?.size_bytes !== file.size_bytes || this.#ledger.isWaiting(handId, path)) {
      return undefined;
    }
    const { version } = file;
    if (output.version === version) return output;
    try {
      const hash = createHash("sha256");
      for await (const chunk of contentOf(sandbox, file, signal)) hash.update(chunk);
      return hash.digest("hex") === output.sha256 ? { ...output, version } : undefined;
    } catch (error) {
      if (error instanceof SandboxGoneError) throw error;
      // It is being written, as taking it will find out.
      return undefined;
    }
  }

  /** Its place; undefined if it could not be taken. */

  async #take(
    sandbox: Sandbox,
    hand: HandOfOutputs,
    file: FileStat,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const path = pathBelow(file);
    try {
      // Before anybody can commit what comes after it.
      await this.#committed.remove(hand.handId, path);
      failPoint("hands.output.before_upload");
      const blob = await this.#blobs.put(hand.workspaceId, contentOf(sandbox, file, signal));
      failPoint("hands.output.after_upload");
      return this.#ledger.add(hand.handId, { path, ...blob }).found;
    } catch (error) {
      if (error instanceof SandboxGoneError) throw error;
      this.#report("output_not_taken", { hand_id: hand.handId, path: file.path, error });
      return undefined;
    }
  }
}
