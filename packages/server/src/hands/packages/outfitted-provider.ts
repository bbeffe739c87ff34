import type {
  ProvisionRequest,
  Sandbox,
  SandboxCapabilities,
  SandboxProvider,
} from "../../core/ports/sandbox.ts";
import type { Spares } from "../../core/ports/spares.ts";
import { type OutfitSources, takeOutfit } from "./outfits.ts";
import { OutfittedSpares } from "./outfitted-spares.ts";

/** A provider whose sandboxes have their recipe's base and packages, by one that is told where they are. */
export class OutfittedProvider implements SandboxProvider {
  readonly #inner: SandboxProvider;
  readonly #sources: OutfitSources;
  readonly spares?: Spares;

  get names(): SandboxProvider["names"] {
    return this.#inner.names;
  }

  constructor(inner: SandboxProvider, sources: OutfitSources) {
    this.#inner = inner;
    this.#sources = sources;
    if (inner.spares) this.spares = new OutfittedSpares(inner.spares, sources);
  }

  capabilities(signal: AbortSignal): Promise<SandboxCapabilities> {
    return this.#inner.capabilities(signal);
  }

  async provision(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox> {
    const { outfit, release } = await takeOutfit(this.#sources, request.recipe, signal);
    try {
      const sandbox = await this.#inner.provision(
        outfit === undefined ? request : { ...request, outfit },
        signal,
      );
      sandbox.closed.then(release, release);
      return sandbox;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** What was being installed is as little believed as the sandboxes that did it. */
  async reap(): Promise<void> {
    await this.#inner.reap();
    await this.#sources.layers.clean();
    await this.#sources.bases.clean();
  }

  async dispose(handId: string): Promise<void> {
    await this.#inner.dispose(handId);
  }
}
