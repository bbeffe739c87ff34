import { packageManagers } from "@drover/api";
import type { Recipe } from "../../core/ports/hands.ts";
import type { Outfit } from "../../core/ports/sandbox.ts";
import type { BaseStore } from "../base/base-store.ts";
import { findBase } from "../base/find-base.ts";
import { ENVIRONMENT, PACKAGES_FOLDER } from "../sandbox/local/sandbox-layout.ts";
import { PackageError } from "./install-error.ts";
import type { Layer } from "./layer-store.ts";
import type { Layers } from "./layers.ts";
import { MANAGERS } from "./managers.ts";

export interface OutfitSources {
  readonly bases: BaseStore;
  readonly layers: Layers;
}

export interface TakenOutfit {
  /** Undefined for the host's programs alone. */
  readonly outfit: Outfit | undefined;
  /** No sandbox has it any more. To be called once. */
  readonly release: () => void;
}

/**
 * What a recipe's base and packages are on this machine, installed if they are not yet: apt's first, for
 * they change what the others are installed with, then one manager after the other.
 */
export async function takeOutfit(
  { bases, layers }: OutfitSources,
  { base, packages = {} }: Pick<Recipe, "base" | "packages">,
  signal: AbortSignal,
): Promise<TakenOutfit> {
  const releases: (() => void)[] = [];
  const release = () => {
    for (const one of releases.splice(0)) one();
  };
  let { root, id: rootId } = findBase(base, bases);
  const named: [string, Layer][] = [];
  try {
    for (const manager of packageManagers) {
      const names = packages[manager] ?? [];
      if (names.length === 0) continue;
      if (manager === "apt" && root === undefined) throw noRoot(names);
      const taken = await layers.take({ manager, names, root, rootId }, signal);
      releases.push(taken.release);
      const { layer } = taken;
      if (manager === "apt") [root, rootId] = [layer.tree, layer.key];
      else named.push([manager, layer]);
    }
  } catch (error) {
    release();
    throw error;
  }
  if (root === undefined && named.length === 0) return { outfit: undefined, release };
  const trees = Object.fromEntries(named.map(([manager, { tree }]) => [manager, tree]));
  const variables = shownVariables(named.map(([manager]) => manager));
  return { outfit: { ...(root !== undefined && { root }), layers: trees, variables }, release };
}

function shownVariables(managers: readonly string[]): Readonly<Record<string, string>> {
  const used = packageManagers.filter((manager) => managers.includes(manager));
  if (used.length === 0) return {};
  const folders = used.map((manager) => `${PACKAGES_FOLDER}/${manager}/bin`);
  return Object.assign(
    // What an environment asks for by name goes before what happens to be there.
    { PATH: [...folders, ENVIRONMENT["PATH"]].join(":") },
    ...used.map((manager) => MANAGERS[manager].shown),
  );
}

function noRoot(names: readonly string[]): PackageError {
  return new PackageError(
    `packages.apt (${names.join(", ")}) needs a base of its own, and the host's programs cannot be added to: set DROVER_SANDBOX_BASE to one made by \`drover base build\``,
  );
}
