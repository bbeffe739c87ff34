import type { Clock } from "../core/ports/clock.ts";
import type { Hands } from "../core/ports/hands.ts";
import type { UndisposedHand } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import type { FailPoint } from "../lib/fail-point.ts";
import { Wakeup } from "../lib/wakeup.ts";
import type { DriveLog } from "./deps.ts";

export interface DisposerDeps {
  readonly store: Pick<Store, "write">;
  readonly hands: Pick<Hands, "dispose">;
  readonly clock: Clock;
  /** Where a test may end the process. */
  readonly failPoint: (name: FailPoint) => void;
  readonly log: DriveLog;
}

/** Disposed of at the same time: one that hangs holds up these and no more. */
const AT_ONCE = 8;
/** Between two tries while something fails; doubles each time. */
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 5 * 60_000;

/**
 * Has the hands of deleted sessions disposed of. The wish is in the session's tombstone, so that it
 * outlives every process; what was done when a process died is done again, which changes nothing.
 */
export class HandDisposer {
  readonly #deps: DisposerDeps;
  readonly #doorbell = new Wakeup();
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  /** Where the next batch begins; undefined for the beginning. */
  #after: UndisposedHand | undefined;

  constructor(deps: DisposerDeps) {
    this.#deps = deps;
  }

  /** Begins with what earlier processes left. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** A session was deleted. */
  wake(): void {
    this.#doorbell.notify();
  }

  /** Begins nothing more and resolves when what is under way has ended. Never rejects. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#doorbell.notify();
    await this.#loop;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      failures = (await this.#disposeAll()) ? 0 : failures + 1;
      await this.#rest(failures);
    }
  }

  /** True once nothing is left. */
  async #disposeAll(): Promise<boolean> {
    let isClean = this.#after === undefined;
    do {
      const { failed, next } = await this.#disposeSome(this.#after);
      // Also beyond those that failed: a hand that never can be disposed of keeps no other waiting.
      this.#after = next;
      isClean &&= failed === 0;
      // Where all fail, nobody answers: the others would fail as well.
      if (failed === AT_ONCE) return false;
    } while (this.#after !== undefined && !this.#stop.signal.aborted);
    return isClean;
  }

  /** One batch; `next` is where the following one begins, undefined at the end. */
  async #disposeSome(
    after: UndisposedHand | undefined,
  ): Promise<{ failed: number; next: UndisposedHand | undefined }> {
    try {
      const request = { limit: AT_ONCE, ...(after && { after }) };
      const hands = await this.#deps.store.write((tx) => tx.sessions.listUndisposed(request));
      const done = await Promise.all(hands.map((hand) => this.#dispose(hand)));
      const disposed = hands.filter((_, index) => done[index]);
      if (disposed.length > 0) {
        await this.#deps.store.write(async (tx) => {
          for (const hand of disposed) await tx.sessions.setDisposed(hand);
        });
      }
      const next = hands.length === AT_ONCE ? hands.at(-1) : undefined;
      return { failed: hands.length - disposed.length, next };
    } catch (error) {
      this.#deps.log.error({ err: error }, "hands of deleted sessions cannot be looked up");
      return { failed: AT_ONCE, next: after };
    }
  }

  async #dispose({ sessionId, handId }: UndisposedHand): Promise<boolean> {
    const { hands, failPoint, log } = this.#deps;
    if (this.#stop.signal.aborted) return false;
    failPoint("serve.dispose.before");
    try {
      const isDone = await hands.dispose(handId);
      if (isDone) failPoint("serve.dispose.after");
      return isDone;
    } catch (error) {
      log.error({ session_id: sessionId, err: error }, "a hand could not be disposed of");
      return false;
    }
  }

  /** Until there is more to do, or until it is time to try again. */
  async #rest(failures: number): Promise<void> {
    const { clock } = this.#deps;
    const timer = new AbortController();
    if (failures > 0) {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), PAUSE_MAX_MS);
      const slept = clock.sleepUntil(clock.now() + pauseMs, timer.signal);
      void slept.then(() => timer.signal.aborted || this.#doorbell.notify());
    }
    await this.#doorbell.wait();
    timer.abort();
  }
}
