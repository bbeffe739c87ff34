import type { Config } from "../config.ts";
import { type Base, BaseStore } from "../hands/base/base-store.ts";
import {
  BASE_PACKAGES,
  buildBase,
  DEFAULT_MIRROR,
  DEFAULT_SUITE,
  importBase,
} from "../hands/base/build-base.ts";
import { OperatorError } from "../lib/operator-error.ts";

interface Making {
  readonly name: string;
  readonly onProgress: (line: string) => void;
}

/** Rejects with `OperatorError` for a name that nothing is known of. */
export async function buildNamed(
  config: Config,
  { name, include, suite, onProgress }: Making & { include?: string; suite?: string },
): Promise<Base> {
  const further = (include ?? "").split(",").filter((one) => one !== "");
  const known = BASE_PACKAGES[name];
  if (known === undefined && further.length === 0) {
    const names = Object.keys(BASE_PACKAGES).join(", ");
    throw new OperatorError(
      `no packages are known for a base "${name}": name them with --include, or build ${names}`,
    );
  }
  return await buildBase({
    ...{ name, onProgress },
    store: new BaseStore(config.data),
    packages: [...(known ?? BASE_PACKAGES["small"] ?? []), ...further],
    suite: suite ?? DEFAULT_SUITE,
    mirror: config.packageRegistries.apt ?? DEFAULT_MIRROR,
  });
}

export async function importNamed(
  config: Config,
  options: Making & { path: string },
): Promise<Base> {
  return await importBase({ ...options, store: new BaseStore(config.data) });
}

export function listBases(config: Config): readonly Base[] {
  return new BaseStore(config.data).list();
}
