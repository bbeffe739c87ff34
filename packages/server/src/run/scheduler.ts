import { StoreUnavailableError } from "../core/errors.ts";
import type { Claim } from "../core/ports/sessions.ts";
import { Wakeup } from "../lib/wakeup.ts";
import type { DriveDeps } from "./deps.ts";
import { drive } from "./drive.ts";

export interface SchedulerOptions {
  /** Names this process in the leases it holds. */
  readonly holder: string;
  /** How long a lease lasts that is not renewed. Null where leases end only by take-over: one process owns the store. */
  readonly leaseMs: number | null;
  /** False from the moment another process may own the store: then nothing is claimed any more. */
  readonly ownsStore: () => boolean;
  /** Sessions driven at once. */
  readonly sessionsMax: number;
  /** How long to leave a session alone whose drive threw, in milliseconds. */
  readonly failureDelayMs: number;
}

interface Drive {
  readonly claim: Claim;
  readonly ended: Promise<void>;
  /** Aborted when another process has the session. */
  readonly lost: AbortController;
}

interface Look {
  readonly claims: readonly Claim[];
  /** When the next session becomes due, if that was asked and is known. */
  readonly due?: string | undefined;
}

/** However quiet it is, look for due sessions so often: announcements are hints and may be lost. */
const POLL_MS = 5_000;
/** Between two looks at least, so that what cannot be claimed is not looked at all the time. */
const PAUSE_MS = 100;
const CLAIM_MAX = 64;
/** A lease is renewed so often before it runs out. */
const RENEWALS = 3;

/** Claims sessions as they become due and drives each until it waits for its user. */
export class Scheduler {
  readonly #deps: DriveDeps;
  readonly #options: SchedulerOptions;
  readonly #drives = new Map<string, Drive>();
  readonly #doorbell = new Wakeup();
  readonly #stop = new AbortController();
  readonly #unsubscribe: () => void;
  #loops: Promise<unknown> | undefined;
  /** When to look for due sessions by itself, in milliseconds since 1970. */
  #lookAt = 0;

  constructor(deps: DriveDeps, options: SchedulerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#unsubscribe = deps.announcements.subscribeDue(() => this.#doorbell.notify());
  }

  start(): void {
    this.#loops ??= Promise.all([this.#run(), this.#keepLeases()]);
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
    await this.#loops;
    await Promise.all([...this.#drives.values()].map(({ ended }) => ended));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock } = this.#deps;
    while (!signal.aborted) {
      const isLook = clock.now() >= this.#lookAt;
      const { claims, due } = await this.#claim(isLook);
      if (isLook) {
        const now = clock.now();
        const dueMs = due === undefined ? Number.POSITIVE_INFINITY : Date.parse(due);
        this.#lookAt = Math.max(now + PAUSE_MS, Math.min(now + POLL_MS, dueMs));
      }
      for (const claim of claims) this.#drive(claim);
      if (claims.length === CLAIM_MAX) continue;
      await this.#sleep();
    }
  }

  async #claim(isLook: boolean): Promise<Look> {
    const limit = Math.min(CLAIM_MAX, this.#options.sessionsMax - this.#drives.size);
    if (limit <= 0) return { claims: [] };
    const { holder, leaseMs, ownsStore } = this.#options;
    this.#deps.failPoint("serve.claim.before");
    try {
      // Asked within the transaction: whoever owns the store next ends all leases in one of its own,
      // so a process that was frozen just here cannot claim a session after that and take it along.
      // Not synced: whatever is appended under the lease is on disk after the claim or not at all.
      return await this.#deps.store.writeUnsynced(async (tx): Promise<Look> => {
        if (!ownsStore()) return { claims: [] };
        if (isLook) await tx.queue.takeOverLost(holder);
        const claims = await tx.queue.claim({ holder, leaseMs, limit });
        return isLook ? { claims, due: await tx.queue.nextDue() } : { claims };
      });
    } catch (error) {
      // Nothing new is claimed while the store cannot write; the next round looks again.
      if (!(error instanceof StoreUnavailableError)) {
        this.#deps.log.error({ err: error }, "claiming failed");
      }
      return { claims: [] };
    }
  }

  #drive(claim: Claim): void {
    this.#deps.failPoint("serve.claim.after");
    const { sessionId } = claim;
    // It lost the lease meanwhile without noticing.
    this.#drives.get(sessionId)?.lost.abort();
    const lost = new AbortController();
    const ended = this.#driveOnce(claim, lost.signal).finally(() => {
      if (this.#drives.get(sessionId)?.claim === claim) this.#drives.delete(sessionId);
      // A place is free again, and what was announced meanwhile may have been left for lack of one.
      this.#doorbell.notify();
    });
    this.#drives.set(sessionId, { claim, ended, lost });
  }

  async #driveOnce(claim: Claim, lost: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, lost]);
    try {
      const end = await drive(claim, this.#deps, signal);
      this.#deps.log.info({ session_id: claim.sessionId, epoch: claim.epoch, end }, "drive ended");
    } catch (error) {
      this.#deps.log.error({ session_id: claim.sessionId, err: error }, "drive failed");
      await this.#letGo(claim, signal);
    }
  }

  /** A drive that could not even give up its turn: another one tries later, if there is input. */
  async #letGo(claim: Claim, signal: AbortSignal): Promise<void> {
    const { clock, store, log } = this.#deps;
    await clock.sleepUntil(clock.now() + this.#options.failureDelayMs, signal);
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

  async #keepLeases(): Promise<void> {
    const { leaseMs } = this.#options;
    const { signal } = this.#stop;
    const { clock } = this.#deps;
    while (leaseMs !== null && !signal.aborted) {
      await clock.sleepUntil(clock.now() + leaseMs / RENEWALS, signal);
      if (!signal.aborted) await this.#renew(leaseMs);
    }
  }

  /** A session that another process has by now is driven here no longer. */
  async #renew(leaseMs: number): Promise<void> {
    const drives = [...this.#drives.values()];
    if (drives.length === 0) return;
    try {
      const { holder } = this.#options;
      const held = await this.#deps.store.writeUnsynced((tx) =>
        tx.queue.renew({ holder, leaseMs }),
      );
      const ids = new Set(held.map(({ sessionId }) => sessionId));
      for (const { claim, lost } of drives) if (!ids.has(claim.sessionId)) lost.abort();
    } catch (error) {
      // The next renewal may come in time; if not, whoever appends under a lost lease is refused.
      if (error instanceof StoreUnavailableError) return;
      this.#deps.log.error({ err: error }, "leases could not be renewed");
    }
  }

  /** Until something is due or it is time to look. */
  async #sleep(): Promise<void> {
    const { clock } = this.#deps;
    const timer = new AbortController();
    const slept = clock.sleepUntil(this.#lookAt, timer.signal);
    // An aborted sleep is over as well, and must not ring: that would be the end of all rest.
    void slept.then(() => timer.signal.aborted || this.#doorbell.notify());
    await this.#doorbell.wait();
    timer.abort();
  }
}
