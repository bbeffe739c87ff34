import { outputRecord } from "../core/files/output-record.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LiveOutputs } from "../core/ports/hands.ts";
import type { Store } from "../core/ports/store.ts";
import type { NewId } from "./principal.ts";

interface IdleOutputsOptions {
  readonly store: Pick<Store, "sessions" | "hands" | "write">;
  readonly liveOutputs: LiveOutputs;
  readonly newId: NewId;
}

/**
 * Records what programs in the background of a session that rests have left, when somebody asks for its
 * files. Of one that does not rest, its driver does.
 */
export class IdleOutputs {
  readonly #options: IdleOutputsOptions;
  /** One look a session at a time: what was found first is recorded first. */
  readonly #looks = new Map<string, Promise<void>>();

  constructor(options: IdleOutputsOptions) {
    this.#options = options;
  }

  async record(key: SessionKey): Promise<void> {
    const { workspaceId, sessionId } = key;
    const place = `${workspaceId}/${sessionId}`;
    const look =
      this.#looks.get(place) ?? this.#record(key).finally(() => this.#looks.delete(place));
    this.#looks.set(place, look);
    await look;
  }

  async #record(key: SessionKey): Promise<void> {
    const { store, liveOutputs, newId } = this.#options;
    const session = await store.sessions.find(key);
    if (session?.status !== "idle" || session.deleted_at !== null) return;
    const { workspaceId } = key;
    const { hand_id: handId, recipe } = session;
    // What another machine may have of an earlier time of it is none of the session's.
    const line = (await store.hands.find(workspaceId, handId))?.line;
    const hand = { workspaceId, handId, recipe, ...(line !== undefined && { line }) };
    const outputs = await liveOutputs.lookAtOutputs(hand, new AbortController().signal);
    if (outputs.length === 0) return;
    const isRecorded = await store.write(async (tx) => {
      const now = await tx.sessions.lock(key);
      // Whoever drove it since then may know better, and has been told of these too.
      if (now?.last_seq !== session.last_seq || now.deleted_at !== null) return false;
      for (const output of outputs) {
        await tx.files.putOutput(outputRecord(output, { id: newId("file"), session, now: tx.now }));
      }
      return true;
    });
    if (isRecorded) await liveOutputs.settleOutputs(handId, outputs);
  }
}
