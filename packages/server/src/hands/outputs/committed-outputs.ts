import { mkdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomically } from "../../lib/write-file-atomically.ts";
import { isHandId } from "../checkpoints/hand-notes.ts";
import type { Report } from "../runtime/report.ts";
import { HandTurns } from "../sandbox/local/hand-turns.ts";

/** An output as it was committed last. Whether its user has kept it since is not known here. */
export interface CommittedOutput {
  /** Relative to the folder. */
  readonly path: string;
  readonly sha256: string;
  readonly size_bytes: number;
  /** Of the file that had this content when it was looked at last, see `FileStat`. */
  readonly version: string;
}

const Stored = z.strictObject({
  line: z.int().positive(),
  files: z.array(
    z.strictObject({
      path: z.string(),
      sha256: z.string(),
      size_bytes: z.number(),
      version: z.string(),
    }),
  ),
});

interface CommittedOfHand {
  readonly line: number | undefined;
  readonly files: Map<string, CommittedOutput>;
}

/**
 * The line of a hand's files, see `HandFiles`; undefined where nobody keeps account of them: then nothing outlives
 * the process.
 */
export type LineOf = (handId: string) => number | undefined;

export interface CommittedOutputsOptions {
  /** A file for each hand; it outlives the hand's own folder, which goes whenever its files are kept elsewhere. */
  readonly folder: string;
  readonly lineOf: LineOf;
  readonly report: Report;
}

/**
 * Which outputs of each hand are committed, so that none is given again before its content changes: its user may
 * have deleted it. On disk before it is believed, and forgotten when the files begin anew.
 */
export class CommittedOutputs {
  readonly #options: CommittedOutputsOptions;
  readonly #hands = new Map<string, CommittedOfHand>();
  readonly #turns = new HandTurns();

  constructor(options: CommittedOutputsOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  find(handId: string, path: string): CommittedOutput | undefined {
    return this.#of(handId).files.get(path);
  }

  /** Durable when it resolves. Rejects where it cannot be. */
  async put(handId: string, outputs: readonly CommittedOutput[]): Promise<void> {
    if (outputs.length === 0) return;
    const { files } = this.#of(handId);
    for (const output of outputs) files.set(output.path, output);
    await this.#save(handId);
  }

  /** Before the path's next content is given to anybody. Durable when it resolves. */
  async remove(handId: string, path: string): Promise<void> {
    if (this.#of(handId).files.delete(path)) await this.#save(handId);
  }

  /** What has left the folder is new when it comes back. */
  async keepOnly(handId: string, present: ReadonlySet<string>): Promise<void> {
    const { files } = this.#of(handId);
    const gone = [...files.keys()].filter((path) => !present.has(path));
    for (const path of gone) files.delete(path);
    if (gone.length > 0) await this.#save(handId);
  }

  /** The hand is gone. */
  async dispose(handId: string): Promise<void> {
    await this.#turns.take(handId, async () => {
      this.#hands.delete(handId);
      if (isHandId(handId)) await rm(this.#path(handId), { force: true });
    });
  }

  #of(handId: string): CommittedOfHand {
    const line = this.#options.lineOf(handId);
    const known = this.#hands.get(handId);
    if (known !== undefined && known.line === line) return known;
    const hand = { line, files: line === undefined ? new Map() : this.#read(handId, line) };
    this.#hands.set(handId, hand);
    return hand;
  }

  #read(handId: string, line: number): Map<string, CommittedOutput> {
    try {
      const stored = Stored.parse(JSON.parse(readFileSync(this.#path(handId), "utf8")));
      const files = stored.line === line ? stored.files : [];
      return new Map(files.map((file) => [file.path, file]));
    } catch (error) {
      const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
      if (!isAbsent)
        this.#options.report("committed_outputs_unreadable", { hand_id: handId, error });
      return new Map();
    }
  }

  async #save(handId: string): Promise<void> {
    await this.#turns.take(handId, async () => {
      const hand = this.#hands.get(handId);
      if (hand?.line === undefined) return;
      const stored = { line: hand.line, files: [...hand.files.values()] };
      await writeFileAtomically(this.#path(handId), JSON.stringify(stored), { mode: 0o600 });
    });
  }

  #path(handId: string): string {
    return join(this.#options.folder, `${handId}.json`);
  }
}
