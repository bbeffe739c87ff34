import type { ProviderName } from "../sandboxes/providers.ts";
import type { ProvisionRequest, Sandbox } from "./sandbox.ts";

/** What a sandbox is made from before it is known whose it will be. */
export type SpareRequest = Pick<ProvisionRequest, "recipe" | "outfit">;

/** Makes sandboxes ahead. All of them end with the process that made them. */
export interface Spares {
  /** Why those of this provider cannot be made ahead here, in a sentence; undefined where they can. */
  refusal(provider: ProviderName): string | undefined;
  /** Whether there is nothing of the hand yet but what is noted of its files. */
  isNew(handId: string): boolean;
  /**
   * Makes one from a recipe that mounts nothing and begins with no checkpoint. Rejects with
   * `SandboxUnavailableError`; aborting ends a half-made one.
   */
  make(request: SpareRequest, signal: AbortSignal): Promise<SpareSandbox>;
}

/**
 * A sandbox that no session has had: nothing of one was ever in it, and its network, if it has one, leads
 * nowhere.
 */
export interface SpareSandbox {
  /** Resolves when it is dead and all of its processes are gone; says why. Also after it was adopted. */
  readonly closed: Promise<string>;
  /**
   * Makes it the hand's, as `provision` would have made one, with the request's network and files. To be
   * called once. Undefined, with nothing of the hand changed, if it is dead, if the hand is not new, or if what
   * the recipe's base and packages are has changed; then it is still to be closed. Rejects with
   * `SandboxUnavailableError` where it cannot be made the hand's, and then it is ended.
   */
  adopt(request: ProvisionRequest, signal: AbortSignal): Promise<Sandbox | undefined>;
  /** Ends it if it was not adopted; resolves when its processes and its folder are gone. */
  close(): Promise<void>;
}
