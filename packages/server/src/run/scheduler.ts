import { StoreUnavailableError } from "../core/errors.ts";
import type { Claim } from "../core/ports/sessions.ts";
import { Wakeup } from "../lib/wakeup.ts";
import type { DriveDeps } from "./deps.ts";
import { drive } from "./drive.ts";

export interface SchedulerOptions {
  /** Names this process in the leases it holds. */
  readonly holder: string;
  /** Null where leases end only by take-over: one process owns the store. */
  readonly leaseMs: number | null;
  /** False from the moment another process may own the store: then nothing is claimed any more. */
  readonly ownsStore: () => boolean;
  /** Sessions driven at once. */
  readonly sessionsMax: number;
  /** How long to leave a session alone whose drive threw, in milliseconds. */
  readonly failureDelayMs: number;
}

/** However quiet it is, look for due sessions so often: announcements are hints and may be lost. */
const POLL_MS = 5_000;
const CLAIM_MAX = 64;

/** Claims sessions as they become due and drives each until it waits for its user. */
export class Scheduler {
  readonly #deps: DriveDeps;
  readonly #options: SchedulerOptions;
  readonly #drives = new Map<string, Promise<void>>();
  readonly #doorbell = new Wakeup();
  readonly #stop = new AbortController();
  readonly #unsubscribe: () => void;
  #loop: Promise<void> | undefined;

  constructor(deps: DriveDeps, options: SchedulerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#unsubscribe = deps.announcements.subscribeDue(() => this.#doorbell.notify());
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Sessions that are being driven. */
  get size(): number {
    return this.#drives.size;
  }

  /** Stops claiming, ends every drive where it stands and resolves when all have let go. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#stop.abort();
    this.#doorbell.notify();
    await this.#loop;
    await Promise.all(this.#drives.values());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const claims = await this.#claim();
      for (const claim of claims) this.#drive(claim);
      if (claims.length === CLAIM_MAX) continue;
      await this.#sleep();
    }
  }

  async #claim(): Promise<readonly Claim[]> {
    const limit = Math.min(CLAIM_MAX, this.#options.sessionsMax - this.#drives.size);
    if (limit <= 0) return [];
    const { holder, leaseMs, ownsStore } = this.#options;
    this.#deps.failPoint("serve.claim.before");
    try {
      // Asked within the transaction: whoever owns the store next ends all leases in one of its own,
      // so a process that was frozen just here cannot claim a session after that and take it along.
      // Not synced: whatever is appended under the lease is on disk after the claim or not at all.
      return await this.#deps.store.writeUnsynced(async (tx) =>
        ownsStore() ? await tx.queue.claim({ holder, leaseMs, limit }) : [],
      );
    } catch (error) {
      // Nothing new is claimed while the store cannot write; the next round looks again.
      if (!(error instanceof StoreUnavailableError)) {
        this.#deps.log.error({ err: error }, "claiming failed");
      }
      return [];
    }
  }

  #drive(claim: Claim): void {
    this.#deps.failPoint("serve.claim.after");
    const { sessionId } = claim;
    const driven = this.#driveOnce(claim).finally(() => {
      if (this.#drives.get(sessionId) === driven) this.#drives.delete(sessionId);
      // A place is free again, and what was announced meanwhile may have been left for lack of one.
      this.#doorbell.notify();
    });
    this.#drives.set(sessionId, driven);
  }

  async #driveOnce(claim: Claim): Promise<void> {
    try {
      const end = await drive(claim, this.#deps, this.#stop.signal);
      this.#deps.log.info({ session_id: claim.sessionId, epoch: claim.epoch, end }, "drive ended");
    } catch (error) {
      this.#deps.log.error({ session_id: claim.sessionId, err: error }, "drive failed");
      await this.#letGo(claim);
    }
  }

  /** A drive that could not even give up its turn: another one tries later, if there is input. */
  async #letGo(claim: Claim): Promise<void> {
    const { clock, store, log } = this.#deps;
    await clock.sleepUntil(clock.now() + this.#options.failureDelayMs, this.#stop.signal);
    try {
      await store.write(async (tx) => {
        const session = await tx.sessions.find(claim);
        const { workspaceId, sessionId, epoch } = claim;
        const lease = { workspaceId, sessionId, epoch, seenSeq: session?.last_seq ?? 0 };
        const isQuiet = await tx.queue.release({ ...lease, wakeAt: null });
        if (!isQuiet) await tx.queue.release({ ...lease, wakeAt: tx.now });
      });
    } catch (error) {
      log.error({ session_id: claim.sessionId, err: error }, "lease could not be given back");
    }
  }

  async #sleep(): Promise<void> {
    const { clock } = this.#deps;
    const timer = new AbortController();
    const slept = clock.sleepUntil(clock.now() + POLL_MS, timer.signal);
    // An aborted sleep is over as well, and must not ring: that would be the end of all rest.
    void slept.then(() => timer.signal.aborted || this.#doorbell.notify());
    await this.#doorbell.wait();
    timer.abort();
  }
}
