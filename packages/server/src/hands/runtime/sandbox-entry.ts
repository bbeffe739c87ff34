import { isDeepStrictEqual } from "node:util";
import type { Recipe } from "../../core/ports/hands.ts";
import type { ProvisionRequest, Sandbox } from "../../core/ports/sandbox.ts";

/** A request by a session that has the hand now. */
export interface Holding extends ProvisionRequest {
  /** The session; absent for what is no call of one. */
  readonly holder?: string;
}

/** One hand's sandbox from the first call for it until its processes are proved gone. */
export interface SandboxEntry {
  /** What the provider says, however late. */
  readonly made: Promise<Sandbox>;
  /** The same for those who wait, who hear of a missed deadline at once. */
  readonly sandbox: Promise<Sandbox>;
  /** Aborts the making of it. */
  readonly abandon: AbortController;
  /** The sandbox once it is ready. */
  live: Sandbox | undefined;
  users: number;
  lastUsedMs: number;
  closing: Promise<void> | undefined;
  /** For reading alone, and to be ended for whoever else asks. */
  isRead: boolean;
  closedBecause: string | undefined;
  /** What its newest call came with, and whose that was. */
  used: Pick<Holding, "holder" | "recipe" | "secrets">;
  readonly closedListeners: Set<(why: string) => void>;
}

/**
 * True for one that may be used. What a sandbox was made with holds for its session as long as it has the hand.
 * Another session gets it as it is only if its own would be the same: else it could reach, or use, what was promised
 * to the first alone.
 */
export function isFor(
  { used, closing, isRead }: SandboxEntry,
  { holder, recipe, secrets }: Holding,
): boolean {
  if (closing || isRead) return false;
  if (holder === undefined || holder === used.holder) return true;
  if (secrets !== undefined || used.secrets !== undefined) return false;
  return isDeepStrictEqual(comparable(recipe), comparable(used.recipe));
}

/** Without what its files began with, which is over. */
function comparable({ checkpoint: _, ...recipe }: Recipe): Omit<Recipe, "checkpoint"> {
  return recipe;
}
