import type { Clock } from "../../core/ports/clock.ts";
import type { Recipe } from "../../core/ports/hands.ts";
import type { ProvisionRequest, Sandbox, SandboxProvider } from "../../core/ports/sandbox.ts";
import type { SpareSandbox } from "../../core/ports/spares.ts";
import { Deadline } from "../runtime/deadline.ts";
import type { Report } from "../runtime/report.ts";
import { shapeOf, spareRecipe } from "./spare-shape.ts";

export interface WarmPoolOptions {
  readonly provider: SandboxProvider;
  readonly clock: Clock;
  readonly report: Report;
  /** Spare sandboxes that are kept ready; 0 for none. */
  readonly sparesMax: number;
  readonly provisionDeadlineMs: number;
  /** Whether the machine is short of memory or disk: then none is made, and none kept. */
  readonly isTight: () => Promise<boolean>;
}

/** After one could not be made. */
const RETRY_MS = 60_000;

interface Wanted {
  readonly shape: string;
  readonly recipe: Recipe;
}

interface Ready extends Wanted {
  readonly spare: SpareSandbox;
}

/**
 * Makes sandboxes for hands, for new ones from spares where there are any. Spares are of one shape, that of
 * the newest hand, and are made when nobody waits for a sandbox. One is taken before anything is awaited, so
 * that no two get the same.
 */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  #wanted: Wanted | undefined;
  readonly #ready: Ready[] = [];
  #making: { readonly stop: AbortController; readonly over: Promise<void> } | undefined;
  readonly #ending = new Set<Promise<void>>();
  #filling: Promise<void> | undefined;
  #restUntilMs = 0;
  #closed = false;
  /** Providers of whom it was said that they have no spares. */
  readonly #refused = new Set<string>();

  constructor(options: WarmPoolOptions) {
    this.#options = options;
  }

  /** All that there is of spares on the machine, those that are being made or ended among them. */
  get size(): number {
    return this.#ready.length + (this.#making ? 1 : 0) + this.#ending.size;
  }

  /** Whether `provision` would begin with a spare, so that no further sandbox comes to be. */
  hasFor({ handId, recipe, secrets }: ProvisionRequest): boolean {
    const shape = secrets === undefined ? shapeOf(recipe) : undefined;
    if (shape === undefined || !this.#ready.some((ready) => ready.shape === shape)) return false;
    return this.#options.provider.spares?.isNew(handId) ?? false;
  }

  /** See `SandboxProvider.provision`. */
  async provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    const { provider, sparesMax } = this.#options;
    // What programs trust is there from the first of them on.
    const isCommon = sparesMax > 0 && request.secrets === undefined;
    const shape = isCommon ? shapeOf(request.recipe) : undefined;
    if (shape === undefined || !this.#isNew(request)) {
      return await provider.provision(request, signal);
    }
    const at = this.#ready.findIndex((ready) => ready.shape === shape);
    const [taken] = at < 0 ? [] : this.#ready.splice(at, 1);
    const adopted = taken && (await this.#adopted(taken.spare, request, signal));
    const sandbox = adopted ?? (await provider.provision(request, signal));
    this.#want({ shape, recipe: spareRecipe(request.recipe) });
    return sandbox;
  }

  /** Begins to make what is missing, one after the other, as long as there is room. */
  fill(hasRoom: () => boolean): void {
    if (this.#wanted === undefined || this.#filling !== undefined || this.#closed) return;
    this.#filling = this.#fill(hasRoom)
      .catch((error: unknown) => this.#options.report("spare_not_made", { error }))
      .finally(() => {
        this.#filling = undefined;
      });
  }

  /** Resolves when nothing is being made. */
  async rest(): Promise<void> {
    await this.#filling;
  }

  /** Ends one, and the one that is being made last; resolves when it is gone. */
  async endOne(): Promise<void> {
    const ready = this.#ready.pop();
    if (ready) return await this.#end(ready.spare);
    this.#making?.stop.abort();
    const [ending] = this.#ending;
    await (this.#making?.over ?? ending);
  }

  /** Ends them all and makes no more; resolves when all are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#making?.stop.abort();
    await this.rest();
    await this.#endReady(() => true);
    await Promise.all(this.#ending);
  }

  #isNew({ handId, gate }: ProvisionRequest): boolean {
    const { spares } = this.#options.provider;
    if (spares === undefined) this.#refuse("this provider", "it makes no sandbox ahead");
    return gate === undefined && (spares?.isNew(handId) ?? false);
  }

  /** Undefined where the hand's sandbox is to be made as usual. */
  async #adopted(
    spare: SpareSandbox,
    request: ProvisionRequest,
    signal: AbortSignal,
  ): Promise<Sandbox | undefined> {
    try {
      const sandbox = await spare.adopt(request, signal);
      if (sandbox) return sandbox;
    } catch (error) {
      this.#options.report("spare_not_used", { hand_id: request.handId, error });
    }
    await this.#end(spare);
    return undefined;
  }

  #want(wanted: Wanted): void {
    const { provider } = wanted.recipe;
    const refusal = this.#options.provider.spares?.refusal(provider);
    if (refusal === undefined) this.#wanted = wanted;
    else this.#refuse(provider, refusal);
  }

  /** Said once: the setting has no effect. */
  #refuse(provider: string, reason: string): void {
    if (this.#refused.has(provider)) return;
    this.#refused.add(provider);
    this.#options.report("no_spare_sandboxes", { provider, reason });
  }

  async #fill(hasRoom: () => boolean): Promise<void> {
    const { clock, isTight, sparesMax } = this.#options;
    for (;;) {
      await this.#endReady(({ shape }) => shape !== this.#wanted?.shape);
      if (await isTight()) return await this.#endReady(() => true);
      const isDue = this.#ready.length < sparesMax && this.#restUntilMs <= clock.now();
      if (!isDue || this.#closed || !hasRoom()) return;
      await this.#make();
    }
  }

  async #make(): Promise<void> {
    const wanted = this.#wanted;
    const { spares } = this.#options.provider;
    if (wanted === undefined || spares === undefined) return;
    const stop = new AbortController();
    const over = Promise.withResolvers<void>();
    this.#making = { stop, over: over.promise };
    try {
      const { clock, provisionDeadlineMs } = this.#options;
      using deadline = new Deadline(clock, provisionDeadlineMs);
      const signal = AbortSignal.any([stop.signal, deadline.signal]);
      const spare = await spares.make({ recipe: wanted.recipe }, signal);
      if (stop.signal.aborted) await this.#end(spare);
      else this.#keep({ ...wanted, spare });
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#restUntilMs = this.#options.clock.now() + RETRY_MS;
      this.#options.report("spare_not_made", { error });
    } finally {
      this.#making = undefined;
      over.resolve();
    }
  }

  #keep(ready: Ready): void {
    const { report } = this.#options;
    this.#ready.push(ready);
    report("spare_ready", { shape: ready.shape, spares: this.#ready.length });
    const died = (why: string) => {
      const at = this.#ready.indexOf(ready);
      if (at < 0) return;
      this.#ready.splice(at, 1);
      report("spare_ended", { why });
      void this.#end(ready.spare);
    };
    ready.spare.closed.then(died, () => died("it is not proved gone"));
  }

  async #endReady(isToEnd: (ready: Ready) => boolean): Promise<void> {
    const ended = this.#ready.filter(isToEnd);
    for (const ready of ended) this.#ready.splice(this.#ready.indexOf(ready), 1);
    await Promise.all(ended.map(({ spare }) => this.#end(spare)));
  }

  /** Never rejects: what cannot be ended is left to the process that comes after this one. */
  #end(spare: SpareSandbox): Promise<void> {
    const ended = spare
      .close()
      .catch((error: unknown) => this.#options.report("spare_not_ended", { error }))
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    return ended;
  }
}
