import { createHash } from "node:crypto";
import type { Config } from "../config.ts";
import { sandboxLimitVariables } from "../config-sandbox.ts";
import { sandboxProviderVariables } from "../config-sandbox-providers.ts";

/** The same text for settings that let sandboxes and web tools reach the same, and sandboxes use as much and are of the same making. */
export function networkMark({
  egressAllow,
  sandboxNetwork,
  search,
  sandboxLimits,
  packageRegistries,
  sandboxProviders,
  secretsFolder,
  secretsCommand,
}: Pick<
  Config,
  | "egressAllow"
  | "sandboxNetwork"
  | "search"
  | "sandboxLimits"
  | "packageRegistries"
  | "sandboxProviders"
  | "secretsFolder"
  | "secretsCommand"
>): string {
  const names = [...new Set(egressAllow)].sort();
  const limits = `limits ${Object.entries(sandboxLimitVariables(sandboxLimits)).flat().join(" ")}`;
  const registries = Object.entries(packageRegistries).sort().flat();
  const providers = `providers ${Object.values(sandboxProviderVariables(sandboxProviders)).join(" ")}`;
  return JSON.stringify([
    ...[sandboxNetwork, limits, providers, ...names],
    ...(registries.length === 0 ? [] : [`packages ${registries.join(" ")}`]),
    ...(search ? [searchMark(search)] : []),
    ...(secretsFolder === undefined ? [] : [`secrets folder ${secretsFolder}`]),
    ...(secretsCommand === undefined ? [] : [`secrets command ${secretsCommand}`]),
  ]);
}

/** A digest, for the key is no text to be written anywhere. */
function searchMark({ provider, url, key }: NonNullable<Config["search"]>): string {
  const text = JSON.stringify([provider, url, key?.reveal() ?? null]);
  return `search ${createHash("sha256").update(text).digest("hex")}`;
}
