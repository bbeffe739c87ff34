import { join } from "node:path";
import type { Clock } from "../../core/ports/clock.ts";
import type { SandboxProvider } from "../../core/ports/sandbox.ts";
import { BaseStore } from "../base/base-store.ts";
import type { Report } from "../runtime/report.ts";
import type { InstallLimits } from "./install-layer.ts";
import { type LayerLimits, LayerStore } from "./layer-store.ts";
import { Layers } from "./layers.ts";
import type { PackageRegistries } from "./managers.ts";
import { OutfittedProvider } from "./outfitted-provider.ts";

const GIB = 1024 ** 3;

export const PACKAGE_LIMITS: InstallLimits & LayerLimits = {
  installMs: 20 * 60_000,
  bytes: 8 * GIB,
  lookMs: 5_000,
  keptBytes: 32 * GIB,
};

export interface OutfittedOptions {
  /** Absolute. Layers are kept in `packages/` below it, bases in `bases/`. */
  readonly dataFolder: string;
  readonly registries: PackageRegistries;
  readonly clock: Clock;
  readonly report: Report;
  readonly limits?: Partial<typeof PACKAGE_LIMITS>;
}

/** The provider, with bases and packages. To be had by one process per data folder. */
export function openOutfitted(
  provider: SandboxProvider,
  { dataFolder, registries, clock, report, limits }: OutfittedOptions,
): OutfittedProvider {
  const all = { ...PACKAGE_LIMITS, ...limits };
  const store = new LayerStore(join(dataFolder, "packages"), all);
  const layers = new Layers({ provider, store, registries, clock, report, limits: all });
  return new OutfittedProvider(provider, { bases: new BaseStore(dataFolder), layers });
}
