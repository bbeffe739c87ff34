import type { Blobs } from "../../core/ports/blobs.ts";
import { type FileStat, type Sandbox, SandboxGoneError } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import type { Report } from "../runtime/report.ts";
import type { OutputLedger } from "./output-ledger.ts";

export const OUTPUTS_FOLDER = "/mnt/session/outputs";

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

const CHUNK_BYTES = 1024 * 1024;

export interface OutputCollectorOptions {
  readonly blobs: Blobs;
  /** Where what was taken waits to be committed. */
  readonly ledger: OutputLedger;
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

export interface CollectOptions {
  /** Only files that are as they were at the look before: while a command runs it may be writing them. */
  readonly onlySettled?: boolean;
  /** At most so much, where that is less than the limits of a look. */
  readonly room?: Collected;
}

/**
 * Takes the files that an agent left for its user out of the sandbox and into the blob store. What
 * was taken is remembered for the life of this process only: after a restart every file is taken
 * once more, which stores nothing twice, because blobs are named by their content.
 */
export class OutputCollector {
  readonly #blobs: Blobs;
  readonly #ledger: OutputLedger;
  readonly #report: Report;
  readonly #limits: OutputLimits;
  /** The version in which each path was taken, by hand. */
  readonly #taken = new Map<string, ReadonlyMap<string, string>>();
  /** The version in which each path was seen last and not taken, by hand. */
  readonly #seen = new Map<string, ReadonlyMap<string, string>>();
  /** One collection a hand at a time, so that calls that end together do not take a file twice. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(options: OutputCollectorOptions) {
    this.#blobs = options.blobs;
    this.#ledger = options.ledger;
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

  /** The hand is gone. */
  forget(handId: string): void {
    this.#taken.delete(handId);
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
      const versions = this.#versionsOf(handId, files);
      const seen = this.#seen.get(handId);
      this.#seen.set(handId, new Map(files.map(({ path, version }) => [path, version])));
      const bytesMax = Math.min(this.#limits.callBytes, room.bytes);
      for (const file of files) {
        if (signal.aborted || taken.files === room.files) break;
        const fits = taken.bytes + file.size_bytes <= bytesMax;
        const isDue = fits && versions.get(file.path) !== file.version;
        if (!isDue || (onlySettled && seen?.get(file.path) !== file.version)) continue;
        if (!this.#hasPlace(hand)) break;
        if (!(await this.#take(sandbox, hand, file, signal))) continue;
        taken.files += 1;
        taken.bytes += file.size_bytes;
        versions.set(file.path, file.version);
      }
    } catch (error) {
      this.#report("outputs_not_collected", { hand_id: handId, error });
    }
    return taken;
  }

  /** What was taken of the files that are still there: only that is remembered, which bounds the memory. */
  #versionsOf(handId: string, files: readonly FileStat[]): Map<string, string> {
    const taken = this.#taken.get(handId);
    const versions = new Map<string, string>();
    for (const { path } of files) {
      const version = taken?.get(path);
      if (version !== undefined) versions.set(path, version);
    }
    this.#taken.set(handId, versions);
    return versions;
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
    return all.filter((file) => file.type === "file" && this.#isAcceptable(file, hand));
  }

  #isAcceptable(file: FileStat, hand: HandOfOutputs): boolean {
    const { fileBytes, pathBytes } = this.#limits;
    if (!isPlainPath(file.path) || Buffer.byteLength(file.path) > pathBytes) return false;
    if (file.size_bytes <= fileBytes) return true;
    this.#report("output_too_large", { hand_id: hand.handId, path: file.path, limit: fileBytes });
    return false;
  }

  async #take(
    sandbox: Sandbox,
    hand: HandOfOutputs,
    file: FileStat,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      failPoint("hands.output.before_upload");
      const blob = await this.#blobs.put(hand.workspaceId, contentOf(sandbox, file, signal));
      failPoint("hands.output.after_upload");
      const path = file.path.slice(OUTPUTS_FOLDER.length + 1);
      this.#ledger.add(hand.handId, { path, ...blob });
      return true;
    } catch (error) {
      if (error instanceof SandboxGoneError) throw error;
      this.#report("output_not_taken", { hand_id: hand.handId, path: file.path, error });
      return false;
    }
  }
}

/**
 * The file's bytes as of its `version`. Throws at the end if it was written meanwhile, so that the
 * store never shows a mixture of two states.
 */
async function* contentOf(
  sandbox: Sandbox,
  file: FileStat,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  while (offset < file.size_bytes) {
    signal.throwIfAborted();
    const limit = Math.min(CHUNK_BYTES, file.size_bytes - offset);
    const { bytes } = await sandbox.read(file.path, { offset, limit });
    // What the inside answers is not trusted: an empty or oversized answer would never end.
    if (bytes.byteLength === 0 || bytes.byteLength > limit) throw changed(file);
    offset += bytes.byteLength;
    yield bytes;
  }
  const after = await sandbox.stat(file.path);
  if (after?.version !== file.version) throw changed(file);
}

function changed(file: FileStat): Error {
  return new Error(`${file.path} changed while it was read`);
}

/** Below the folder, normalised, and text that can be shown: the inside may answer anything. */
function isPlainPath(path: string): boolean {
  if (!path.startsWith(`${OUTPUTS_FOLDER}/`) || !path.isWellFormed()) return false;
  if (/\p{Cc}/u.test(path)) return false;
  const segments = path.slice(OUTPUTS_FOLDER.length + 1).split("/");
  return segments.every((segment) => !["", ".", ".."].includes(segment));
}
