import type { Recipe } from "../../core/ports/hands.ts";

/**
 * The same text for recipes whose sandboxes differ in nothing that is bound before their first process starts.
 * Undefined for one that mounts what cannot be shown in a sandbox that is there already, and for files that
 * begin with a checkpoint. Mounted files are shown later, and the policy of a network is the way out's.
 */
export function shapeOf({
  provider,
  base,
  packages = {},
  mounts,
  network,
  checkpoint,
}: Recipe): string | undefined {
  if (checkpoint !== undefined || mounts.some(({ type }) => type !== "file")) return undefined;
  const installed = Object.entries(packages)
    .map(([manager, names]) => [manager, [...new Set(names)].sort()] as const)
    .filter(([, names]) => names.length > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([
    provider,
    Object.entries(base).sort(),
    installed,
    network.type === "none" ? "no network" : "a way out",
  ]);
}

/** What a spare of the recipe's shape is made from: nothing of the session that asked for it first. */
export function spareRecipe({ provider, base, packages, network }: Recipe): Recipe {
  return {
    ...{ provider, base, mounts: [] },
    ...(packages !== undefined && { packages }),
    network: network.type === "none" ? network : { type: "limited", hosts: [] },
  };
}
