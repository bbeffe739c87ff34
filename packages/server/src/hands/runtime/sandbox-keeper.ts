import type { Clock } from "../../core/ports/clock.ts";
import {
  type ProvisionRequest,
  type Sandbox,
  type SandboxProvider,
  SandboxUnavailableError,
} from "../../core/ports/sandbox.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { WarmPool } from "../warm/warm-pool.ts";
import { Deadline } from "./deadline.ts";
import type { Report } from "./report.ts";
import { type Holding, isFor, type SandboxEntry } from "./sandbox-entry.ts";
import { UnnoticedDeaths } from "./unnoticed-deaths.ts";

export interface SandboxKeeperOptions {
  readonly provider: SandboxProvider;
  /** Makes those that calls use; unless given, the provider alone does. Its spares count as sandboxes. */
  readonly warm?: WarmPool;
  readonly clock: Clock;
  readonly report: Report;
  /** Live sandboxes at a time; an idle one makes room, else a new one is refused. */
  readonly sandboxesMax: number;
  readonly provisionDeadlineMs: number;
  /** The same for one whose packages may have to be installed first. */
  readonly installDeadlineMs: number;
  /** A sandbox that no call used for so long is ended; its workspace stays. */
  readonly idleMs: number;
}

/** The use of a sandbox by one call. */
export interface SandboxLease {
  readonly sandbox: Sandbox;
  /**
   * Calls back when the sandbox is dead; at once if it is. The returned function takes that back: a
   * reaction to `sandbox.closed` would be kept, with all it refers to, for the sandbox's whole life.
   */
  onClosed(listener: (why: string) => void): () => void;
  /**
   * Ends the sandbox, because it is dead or does not obey, which the call tells of; resolves when its
   * processes are gone.
   */
  end(): Promise<void>;
  /** The call is over. To be called once. */
  release(): void;
}

/**
 * At most one sandbox a hand, made on first use. The entry of a dying one stays until its processes
 * are gone, so that a hand's next sandbox never meets them on the same workspace.
 */
export class SandboxKeeper {
  readonly #options: SandboxKeeperOptions;
  readonly #entries = new Map<string, SandboxEntry>();
  readonly #unnoticedDeaths = new UnnoticedDeaths();
  #closed = false;

  constructor(options: SandboxKeeperOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * The hand's sandbox, made if there is none, with the files of this recipe. Rejects with
   * `SandboxUnavailableError`, also when the signal is aborted first: the making is given up when nobody
   * waits for it any more.
   */
  async acquire(request: Holding, signal: AbortSignal): Promise<SandboxLease> {
    const entry = await this.#entryFor(request, signal);
    entry.users += 1;
    if (request.holder !== undefined) entry.used = request;
    try {
      const sandbox = await unlessAborted(entry.sandbox, signal, givenUp);
      // Files may have come and gone since it was made.
      await unlessAborted(sandbox.showFiles(request.recipe), signal, givenUp);
      return this.#lease(request.handId, entry, sandbox);
    } catch (error) {
      this.#release(entry);
      if (entry.users === 0 && entry.live === undefined) this.#closeLater(request.handId, entry);
      throw error;
    }
  }

  /**
   * Why the hand's last sandbox died by itself; undefined if it did not, or if a call that used it has
   * ended it for that, or if that was told before. Its shell's state went with it, which the agent must hear once.
   */
  takeUnnoticedDeath(handId: string): string | undefined {
    return this.#unnoticedDeaths.take(handId);
  }

  has(handId: string): boolean {
    return this.#entries.has(handId);
  }

  /**
   * Lets a sandbox be used that is made for it and ended after it. Undefined if the hand has one, if there is
   * no room, or if one was asked for meanwhile: then the signal is aborted, and the rest is not waited for.
   */
  async read<T>(
    request: ProvisionRequest,
    use: (sandbox: Sandbox, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.#closed || this.#entries.has(request.handId)) return undefined;
    if (this.#isFull) {
      // For the next attempt.
      void this.#options.warm?.endOne();
      return undefined;
    }
    const entry = this.#provision(request);
    const { signal } = entry.abandon;
    // Nobody may have it, from the beginning: who asks has it ended.
    const reading = this.#read(entry, use);
    const over = reading.then(ignore, ignore);
    entry.closing = over.then(() => this.#end(request.handId, entry));
    entry.closing.catch(ignore);
    entry.isRead = true;
    try {
      return await reading;
    } catch (error) {
      if (!signal.aborted) throw error;
      return undefined;
    } finally {
      await entry.closing;
    }
  }

  async #read<T>(
    entry: SandboxEntry,
    use: (sandbox: Sandbox, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal } = entry.abandon;
    return await use(await unlessAborted(entry.sandbox, signal, givenUp), signal);
  }

  /** Begins to make spares, if nobody waits for a sandbox. */
  fillSpares(): void {
    this.#options.warm?.fill(() => {
      const isAwaited = [...this.#entries.values()].some(({ live }) => live === undefined);
      return !this.#closed && !this.#isFull && !isAwaited;
    });
  }

  /** Begins to end a spare, or else the sandbox that was not used for the longest time, if one is not in use. */
  closeOldest(): void {
    if (this.#sparesSize > 0) return void this.#options.warm?.endOne();
    const [oldest] = this.#idle().sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (oldest) this.#closeLater(...oldest);
  }

  /** Ends the hand's sandbox if there is one; resolves when its processes are gone. */
  async close(handId: string): Promise<void> {
    const entry = this.#entries.get(handId);
    if (entry) await this.#close(handId, entry);
  }

  async dispose(handId: string): Promise<void> {
    await this.close(handId);
    this.#unnoticedDeaths.forget(handId);
    await this.#options.provider.dispose(handId);
  }

  /** The hand's sandbox if it is there already: to be looked at, which is no use that keeps it. */
  live(handId: string): Sandbox | undefined {
    const entry = this.#entries.get(handId);
    return entry?.closing === undefined ? entry?.live : undefined;
  }

  /** Begins to end the sandboxes that no call used for too long. */
  closeIdle(): void {
    const dueMs = this.#options.clock.now() - this.#options.idleMs;
    for (const [handId, entry] of this.#idle()) {
      if (entry.lastUsedMs <= dueMs) this.#closeLater(handId, entry);
    }
  }

  /** Ends them all and makes no more; resolves when all processes are gone. */
  async closeAll(): Promise<void> {
    this.#closed = true;
    const all = [...this.#entries].map(([handId, entry]) => this.#close(handId, entry));
    await Promise.all([...all, this.#options.warm?.close()]);
  }

  async #entryFor(request: Holding, signal: AbortSignal): Promise<SandboxEntry> {
    for (;;) {
      if (signal.aborted) throw givenUp();
      if (this.#closed) throw new SandboxUnavailableError("these hands are stopping");
      const entry = this.#entries.get(request.handId);
      if (entry && isFor(entry, request)) return entry;
      if (entry) this.#giveWay(request.handId, entry);
      // Nothing is awaited between the look and the making, so that a second call finds the first's.
      if (!entry && (!this.#isFull || this.#options.warm?.hasFor(request)))
        return this.#provision(request);
      await unlessAborted(entry?.closing ?? this.#makeRoom(), signal, givenUp);
    }
  }

  /** Begins to end what is not for the one who asks. */
  #giveWay(handId: string, entry: SandboxEntry): void {
    if (entry.isRead) entry.abandon.abort();
    if (!entry.closing) this.#closeLater(handId, entry);
  }

  get #isFull(): boolean {
    return this.#entries.size + this.#sparesSize >= this.#options.sandboxesMax;
  }

  get #sparesSize(): number {
    return this.#options.warm?.size ?? 0;
  }

  async #makeRoom(): Promise<void> {
    if (this.#sparesSize > 0) return await this.#options.warm?.endOne();
    const ending = [...this.#entries.values()].find((entry) => entry.closing);
    if (ending?.isRead) ending.abandon.abort();
    if (ending) return await ending.closing;
    const [oldest] = this.#idle().sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (oldest) return await this.#close(...oldest);
    throw new SandboxUnavailableError(
      `all ${this.#options.sandboxesMax} sandboxes that this machine may have are in use`,
    );
  }

  #provision(request: Holding): SandboxEntry {
    const { clock, provider, warm, provisionDeadlineMs, installDeadlineMs } = this.#options;
    const abandon = new AbortController();
    const made = (warm ?? provider).provision(request, abandon.signal);
    const hasPackages = request.recipe.packages !== undefined;
    const deadlineMs = hasPackages ? installDeadlineMs : provisionDeadlineMs;
    const deadline = new Deadline(clock, deadlineMs);
    const missed = deadline.passed.then(() => {
      const seconds = Math.round(deadlineMs / 1000);
      throw new SandboxUnavailableError(`a sandbox could not be made within ${seconds} s`);
    });
    const entry: SandboxEntry = {
      made,
      sandbox: Promise.race([made, missed]),
      abandon,
      live: undefined,
      users: 0,
      lastUsedMs: clock.now(),
      closing: undefined,
      isRead: false,
      used: request,
      closedBecause: undefined,
      closedListeners: new Set(),
    };
    this.#entries.set(request.handId, entry);
    void this.#follow(request.handId, entry, deadline);
    return entry;
  }

  /** Keeps the entry true to what becomes of the sandbox. */
  async #follow(handId: string, entry: SandboxEntry, deadline: Deadline): Promise<void> {
    entry.sandbox.catch(() => {
      if (deadline.isOver) this.#closeLater(handId, entry);
    });
    try {
      const sandbox = await entry.made;
      entry.live = sandbox;
      deadline[Symbol.dispose]();
      this.#died(handId, entry, await sandbox.closed);
    } catch (error) {
      this.#options.report("sandbox_not_made", { hand_id: handId, error });
    } finally {
      deadline[Symbol.dispose]();
      this.#forget(handId, entry);
    }
  }

  #lease(handId: string, entry: SandboxEntry, sandbox: Sandbox): SandboxLease {
    return {
      sandbox,
      onClosed(listener) {
        if (entry.closedBecause !== undefined) listener(entry.closedBecause);
        else entry.closedListeners.add(listener);
        return () => entry.closedListeners.delete(listener);
      },
      end: () => {
        this.#unnoticedDeaths.forget(handId, entry);
        return this.#close(handId, entry);
      },
      release: () => this.#release(entry),
    };
  }

  #died(handId: string, entry: SandboxEntry, why: string): void {
    this.#options.report("sandbox_ended", { hand_id: handId, why });
    // Also while it is used: a call may have had its answer from it before.
    if (!entry.closing) this.#unnoticedDeaths.add(handId, { entry, why });
    entry.closedBecause = why;
    for (const listener of entry.closedListeners) listener(why);
  }

  #release(entry: SandboxEntry): void {
    entry.users -= 1;
    entry.lastUsedMs = this.#options.clock.now();
  }

  #close(handId: string, entry: SandboxEntry): Promise<void> {
    if (entry.isRead) entry.abandon.abort();
    entry.closing ??= this.#end(handId, entry);
    return entry.closing;
  }

  #closeLater(handId: string, entry: SandboxEntry): void {
    this.#close(handId, entry).catch((error: unknown) => {
      this.#options.report("sandbox_not_ended", { hand_id: handId, error });
    });
  }

  async #end(handId: string, entry: SandboxEntry): Promise<void> {
    entry.abandon.abort();
    const sandbox = await entry.made.catch(ignore);
    try {
      await sandbox?.close();
      this.#forget(handId, entry);
    } catch (error) {
      // The entry stays: without proof that its processes are gone there is no next sandbox. A later
      // attempt to end it may succeed.
      entry.closing = undefined;
      throw new SandboxUnavailableError(`the last sandbox of ${handId} could not be ended`, {
        cause: error,
      });
    }
  }

  #forget(handId: string, entry: SandboxEntry): void {
    if (this.#entries.get(handId) === entry) this.#entries.delete(handId);
  }

  #idle(): [string, SandboxEntry][] {
    return [...this.#entries].filter(([, entry]) => entry.users === 0 && !entry.closing);
  }
}

function givenUp(): SandboxUnavailableError {
  return new SandboxUnavailableError("the wait for a sandbox was given up");
}

function ignore(): undefined {
  return undefined;
}
