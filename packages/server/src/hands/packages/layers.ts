import { createHash } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Report } from "../runtime/report.ts";
import { PackageError } from "./install-error.ts";
import { type InstallOptions, installLayer, type LayerRequest } from "./install-layer.ts";
import type { Layer } from "./layer-store.ts";

/** Changes whenever the same request is to be carried out anew. */
const FORMAT = 1;
const FIRST_PAUSE_MS = 15_000;
const PAUSE_MS_MAX = 10 * 60_000;
const FAILURES_KEPT = 1_000;

export interface LayersOptions extends InstallOptions {
  readonly clock: Clock;
  readonly report: Report;
}

interface Wanted extends Omit<LayerRequest, "key"> {
  /** Of what is installed with, or for apt, on: see `FoundBase`. */
  readonly rootId: string;
}

export interface TakenLayer {
  readonly layer: Layer;
  /** It may go. To be called once. */
  readonly release: () => void;
}

interface Failure {
  readonly error: unknown;
  readonly count: number;
  readonly untilMs: number;
}

/**
 * Layers by what they are made from, each made once however many ask at the same time. What failed is not
 * tried again for a while, which grows: whoever asks meanwhile hears why at once. To be had by one process
 * per data folder.
 */
export class Layers {
  readonly #options: LayersOptions;
  readonly #making = new Map<string, Promise<Layer>>();
  readonly #failures = new Map<string, Failure>();

  constructor(options: LayersOptions) {
    this.#options = options;
  }

  /**
   * Rejects with `PackageError` where a package cannot be installed, and as aborted where nobody waits
   * any more: the making goes on all the same, within its own bounds, for whoever asks next.
   */
  async take(request: Wanted, signal: AbortSignal): Promise<TakenLayer> {
    const key = this.#keyOf(request);
    // From before it is there, so that it does not go in between.
    const release = this.#options.store.use(key);
    try {
      return { layer: await this.#get({ ...request, key }, signal), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #get(request: LayerRequest, signal: AbortSignal): Promise<Layer> {
    const { key } = request;
    const found = this.#options.store.find(key);
    if (found !== undefined && !this.#making.has(key)) return found;
    const failure = this.#failures.get(key);
    const { clock } = this.#options;
    if (failure !== undefined && clock.now() < failure.untilMs) {
      throw stillFailing(failure, clock.now());
    }
    const making = this.#making.get(key) ?? this.#make(request);
    return await unlessAborted(making, signal, () => {
      const { manager, names } = request;
      return new PackageError(
        `packages of the environment are still being installed (${manager} ${names.join(", ")})`,
      );
    });
  }

  /** The sandboxes of earlier processes that were installing are ended: what they left goes. */
  async clean(): Promise<void> {
    const { store, provider } = this.#options;
    for (const id of store.leftDrafts()) {
      await provider.dispose(id);
      await store.removeDraft(id);
    }
    await store.collect();
  }

  #keyOf({ manager, names, rootId }: Wanted): string {
    const registry = this.#options.registries[manager] ?? null;
    const made = [FORMAT, process.arch, rootId, manager, [...new Set(names)].sort(), registry];
    return createHash("sha256").update(JSON.stringify(made)).digest("hex");
  }

  #make(request: LayerRequest): Promise<Layer> {
    const { key } = request;
    const making = this.#install(request).finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    // Those who asked may be gone when it fails.
    making.catch(() => undefined);
    return making;
  }

  async #install(request: LayerRequest): Promise<Layer> {
    const { clock, report, store } = this.#options;
    const { key, manager, names } = request;
    const facts = { layer: key.slice(0, 12), manager, names: names.join(" ") };
    const startMs = clock.now();
    report("packages_installing", facts);
    try {
      const layer = await installLayer(this.#options, request);
      this.#failures.delete(key);
      report("packages_installed", { ...facts, ms: clock.now() - startMs });
      await store.collect();
      return layer;
    } catch (error) {
      report("packages_failed", { ...facts, ms: clock.now() - startMs, error });
      this.#remember(key, error);
      throw error;
    }
  }

  #remember(key: string, error: unknown): void {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), PAUSE_MS_MAX);
    this.#failures.delete(key);
    this.#failures.set(key, { error, count, untilMs: this.#options.clock.now() + pauseMs });
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= FAILURES_KEPT) return;
      this.#failures.delete(oldest);
    }
  }
}

function stillFailing({ error, untilMs }: Failure, nowMs: number): PackageError {
  const message = error instanceof Error ? error.message : String(error);
  const seconds = Math.ceil((untilMs - nowMs) / 1000);
  return new PackageError(`${message} (tried again in ${seconds} s at the earliest)`, {
    cause: error,
  });
}
