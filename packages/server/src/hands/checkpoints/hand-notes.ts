import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../core/ports/clock.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import type { HandCall, HandFiles } from "../../core/ports/hands.ts";
import type { ProvisionRequest } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import type { Report } from "../runtime/report.ts";
import {
  beginNote,
  type HandNote,
  notePath,
  readNote,
  withCall,
  writeNote,
  writeNoteUnsynced,
} from "./hand-note.ts";

export interface HandNotesOptions {
  /** Where providers keep their hands: a folder each, that goes with `SandboxProvider.dispose`. */
  readonly handsFolder: string;
  readonly clock: Clock;
  readonly report: Report;
  /** Ends the hand's sandbox and deletes its folder. */
  readonly discard: (handId: string) => Promise<void>;
}

export interface KnownHand {
  readonly handId: string;
  readonly note: HandNote;
  /** Milliseconds since 1970; of the start of these hands for one that was not used since. */
  readonly lastUsedMs: number;
}

const HAND_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** One that may be a file's name. */
export function isHandId(handId: string): boolean {
  return HAND_ID.test(handId);
}

/** Which files of which hand are on this disk. */
export class HandNotes {
  readonly #options: HandNotesOptions;
  readonly #known = new Map<string, KnownHand>();
  /** One change of a hand's note at a time. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Reads what earlier processes left. */
  constructor(options: HandNotesOptions) {
    this.#options = options;
    const { handsFolder, clock, report } = options;
    if (!existsSync(handsFolder)) return;
    for (const handId of readdirSync(handsFolder)) {
      try {
        const note = readNote(join(handsFolder, handId));
        if (note) this.#known.set(handId, { handId, note, lastUsedMs: clock.now() });
      } catch (error) {
        report("hand_note_unreadable", { hand_id: handId, error });
      }
    }
  }

  all(): readonly KnownHand[] {
    return [...this.#known.values()];
  }

  find(handId: string): KnownHand | undefined {
    return this.#known.get(handId);
  }

  /**
   * A call has come. Makes sure that the files here are those that it is for, or begin as they are to, and
   * answers what its sandbox is to be made from. Undefined if they are not here and must not begin anew.
   */
  async arrive(call: HandCall): Promise<ProvisionRequest | undefined> {
    const { handId, files } = call;
    if (files === undefined) return this.requestOf(call);
    if (!isHandId(handId)) throw new Error(`${JSON.stringify(handId)} is not the id of a hand`);
    return await this.#inTurn(handId, async () => {
      if (!(await this.#begin(handId, files))) return undefined;
      const before = this.#known.get(handId)?.note;
      await this.#put(handId, withCall(before ?? beginNote(call), call), {
        // What is kept is all there is to be believed after a loss of power, until this is on disk.
        isSynced: before !== undefined && before.kept !== null,
      });
      failPoint("hands.files.after_note");
      return this.requestOf(call);
    });
  }

  /**
   * A call for these files is about to come: those of another line go. False if they are not here and must not
   * begin anew.
   */
  async makeWay(handId: string, files: HandFiles): Promise<boolean> {
    if (!isHandId(handId)) throw new Error(`${JSON.stringify(handId)} is not the id of a hand`);
    return await this.#inTurn(handId, () => this.#begin(handId, files));
  }

  /** Whether the files here are those that are meant. */
  isOf(handId: string, line: number | undefined): boolean {
    return line === undefined || this.#known.get(handId)?.note.line === line;
  }

  /** The same as for a call, for what is none. */
  requestOf({ workspaceId, handId, recipe }: ProvisionRequest): ProvisionRequest {
    const from = this.#known.get(handId)?.note.from ?? null;
    const filled = from === null ? recipe : { ...recipe, checkpoint: from };
    return { workspaceId, handId, recipe: filled };
  }

  /** The hand has a sandbox: its files are there. */
  async filled(handId: string): Promise<void> {
    if ((this.#known.get(handId)?.note.from ?? null) === null) return;
    await this.#change(handId, (note) => ({ ...note, from: null }));
  }

  /** A call is over: from here on its hand is idle. */
  used(handId: string): void {
    const known = this.#known.get(handId);
    if (known) this.#known.set(handId, { ...known, lastUsedMs: this.#options.clock.now() });
  }

  /** What was told of the files is committed, and holds if no call came since. */
  async reported({
    hand_id,
    line,
    call_ids,
    checkpoint: kept,
    problem,
  }: HandReport): Promise<void> {
    await this.#change(hand_id, (note) => {
      const isSame = note.line === line && note.call_ids.at(-1) === call_ids.at(-1);
      return isSame ? { ...note, kept, problem } : note;
    });
  }

  /** See `HandNote`. */
  async holdMemory(handId: string): Promise<void> {
    await this.#change(handId, (note) => ({ ...note, holds_memory: true }));
  }

  /** Deletes files that are kept elsewhere. The next call begins with that. */
  async evict({ handId, note: { kept } }: KnownHand): Promise<void> {
    await this.#inTurn(handId, async () => {
      const note = this.#known.get(handId)?.note;
      if (note === undefined || kept === null || note.kept !== kept) return;
      await this.#options.discard(handId);
      failPoint("hands.evict.after_discard");
      await this.#put(handId, { ...note, from: kept }, { isSynced: true });
    });
  }

  forget(handId: string): void {
    this.#known.delete(handId);
  }

  /** False if the files of this line are not here, and must not begin anew; else what is here is of it. */
  async #begin(handId: string, { line, is_ahead }: HandFiles): Promise<boolean> {
    const folder = this.#folder(handId);
    // Somebody may have deleted the folder.
    if (!existsSync(notePath(folder))) this.#known.delete(handId);
    const known = this.#known.get(handId)?.note;
    if (known?.line === line) return true;
    // Its folder alone says nothing: what a session's memory stores hold is put there before.
    const hasFiles = existsSync(join(folder, "workspace"));
    const isFromBefore = known === undefined && line === 1 && hasFiles;
    if (isFromBefore) return true;
    if (is_ahead || (known?.line ?? 0) > line) return false;
    // First, so that nobody begins to keep what is being deleted, and makes a folder for that.
    this.#known.delete(handId);
    if (known !== undefined || hasFiles) await this.#options.discard(handId);
    failPoint("hands.files.after_discard");
    return true;
  }

  async #change(handId: string, change: (note: HandNote) => HandNote): Promise<void> {
    await this.#inTurn(handId, async () => {
      const note = this.#known.get(handId)?.note;
      if (note !== undefined) await this.#put(handId, change(note), { isSynced: true });
    });
  }

  async #put(handId: string, note: HandNote, { isSynced }: { isSynced: boolean }): Promise<void> {
    const folder = this.#folder(handId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isSynced) await writeNote(folder, note);
    else writeNoteUnsynced(folder, note);
    const lastUsedMs = this.#known.get(handId)?.lastUsedMs ?? this.#options.clock.now();
    this.#known.set(handId, { handId, note, lastUsedMs });
  }

  #folder(handId: string): string {
    return join(this.#options.handsFolder, handId);
  }

  async #inTurn<T>(handId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(handId) ?? Promise.resolve();
    const turn = before.then(work, work);
    const over = turn.then(ignore, ignore);
    this.#turns.set(handId, over);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(handId) === over) this.#turns.delete(handId);
    }
  }
}

function ignore(): undefined {
  return undefined;
}
