import { isDeepStrictEqual } from "node:util";
import type { ProvisionRequest, Sandbox } from "../../core/ports/sandbox.ts";
import type { SpareRequest, SpareSandbox, Spares } from "../../core/ports/spares.ts";
import type { ProviderName } from "../../core/sandboxes/providers.ts";
import { type OutfitSources, type TakenOutfit, takeOutfit } from "./outfits.ts";

/** Spares that have their recipe's base and packages, which stay as long as one has them. */
export class OutfittedSpares implements Spares {
  readonly #inner: Spares;
  readonly #sources: OutfitSources;

  constructor(inner: Spares, sources: OutfitSources) {
    this.#inner = inner;
    this.#sources = sources;
  }

  refusal(provider: ProviderName): string | undefined {
    return this.#inner.refusal(provider);
  }

  isNew(handId: string): boolean {
    return this.#inner.isNew(handId);
  }

  async make(request: SpareRequest, signal: AbortSignal): Promise<SpareSandbox> {
    const taken = await takeOutfit(this.#sources, request.recipe, signal);
    try {
      const spare = await this.#inner.make({ ...request, ...outfitOf(taken) }, signal);
      spare.closed.then(taken.release, taken.release);
      return {
        closed: spare.closed,
        adopt: (adopting, stop) => this.#adopt(spare, taken, adopting, stop),
        close: () => spare.close(),
      };
    } catch (error) {
      taken.release();
      throw error;
    }
  }

  /** What a recipe's names stand for on this machine may be another thing by now. */
  async #adopt(
    spare: SpareSandbox,
    { outfit }: TakenOutfit,
    request: ProvisionRequest,
    signal: AbortSignal,
  ): Promise<Sandbox | undefined> {
    const wanted = await takeOutfit(this.#sources, request.recipe, signal);
    try {
      if (!isDeepStrictEqual(wanted.outfit, outfit)) return undefined;
      return await spare.adopt({ ...request, ...outfitOf(wanted) }, signal);
    } finally {
      wanted.release();
    }
  }
}

function outfitOf({ outfit }: TakenOutfit): Pick<ProvisionRequest, "outfit"> {
  return outfit === undefined ? {} : { outfit };
}
