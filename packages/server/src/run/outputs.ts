import { LeaseLostError, StoreUnavailableError } from "../core/errors.ts";
import { outputRecord } from "../core/files/output-record.ts";
import type { OutputFile } from "../core/ports/hands.ts";
import type { Claim, SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { DriveDeps } from "./deps.ts";

/** Paths whose newest place is remembered: many more than are found within any race. */
const PATHS_MAX = 10_000;

/**
 * What a driver records of the files that calls leave under `/mnt/session/outputs`, as files of the session
 * that can be downloaded. It is told of a file by several calls at a time and more than once; the newest
 * state of each wins.
 */
export class SessionOutputs {
  readonly #claim: Claim;
  readonly #deps: DriveDeps;
  /** By path, the place of what was recorded. Another driver's late word is refused by its epoch. */
  readonly #newest = new Map<string, number>();

  constructor(claim: Claim, deps: DriveDeps) {
    this.#claim = claim;
    this.#deps = deps;
  }

  /** Records them in a transaction that is fenced by the caller's append. */
  async put(
    tx: StoreTransaction,
    session: SessionRecord,
    outputs: readonly OutputFile[],
  ): Promise<void> {
    for (const output of outputs) {
      if (!this.#isNewest(output.path, output.found)) continue;
      const id = this.#deps.newId("file");
      await tx.files.putOutput(outputRecord(output, { id, session, now: tx.now }));
    }
  }

  /** Records what was found while a call runs; false if that cannot be done now. Never rejects. */
  async take(session: SessionRecord, outputs: readonly OutputFile[]): Promise<boolean> {
    const { store, hands, log } = this.#deps;
    const { workspaceId, sessionId, epoch } = this.#claim;
    try {
      await store.write(async (tx) => {
        // Nothing to append: it is the fence.
        await tx.events.append({ workspaceId, sessionId, epoch, drafts: [] });
        await this.put(tx, session, outputs);
      });
    } catch (error) {
      const isExpected = error instanceof LeaseLostError || error instanceof StoreUnavailableError;
      if (!isExpected) log.error({ session_id: sessionId, err: error }, "outputs not recorded");
      return false;
    }
    await hands.settleOutputs(session.hand_id, outputs);
    return true;
  }

  /** Also what is told again, because the write before may have failed. */
  #isNewest(path: string, found: number): boolean {
    if (found < (this.#newest.get(path) ?? 0)) return false;
    this.#newest.delete(path);
    this.#newest.set(path, found);
    for (const oldest of this.#newest.keys()) {
      if (this.#newest.size <= PATHS_MAX) break;
      this.#newest.delete(oldest);
    }
    return true;
  }
}
