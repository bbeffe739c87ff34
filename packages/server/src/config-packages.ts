import { z } from "zod";
import type { SandboxBase } from "./core/ports/hands.ts";

/** Where packages come from, by manager, where that is not its public registry. URLs without a secret. */
export type PackageRegistrySettings = Readonly<
  Partial<Record<"apt" | "cargo" | "gem" | "go" | "npm" | "pip", string>>
>;

/** It is shown to code that nobody trusts, and written into commands. */
const PLAIN_URL = /^(?:sparse\+)?https?:\/\/[\w.:[\]-]+(?:\/[\w.~%/+:-]*)?$/;

const registry = (what: string) =>
  z
    .string()
    .refine(
      (url) => PLAIN_URL.test(url) && URL.canParse(url.replace(/^sparse\+/, "")),
      "must be an http or https URL without user, password or query",
    )
    .optional()
    .describe(`${what} See [environments](environments.md).`);

/** Settings of what the programs of sandboxes come from, by their environment variables. */
export const PACKAGE_SETTINGS = {
  DROVER_SANDBOX_BASE: z
    .string()
    .regex(
      /^(?:\/.*|[a-z0-9][a-z0-9-]{0,63})$/,
      "must be `host`, the name of a base, or an absolute path",
    )
    .default("host")
    .describe(
      "The root file system of new sessions' sandboxes: `host` for this machine's `/usr`, the name of one made by `drover base build` or `drover base import`, such as `full`, or the absolute path of a folder. See [environments](environments.md).",
    ),
  DROVER_PACKAGES_APT: registry(
    "Base URL of the Debian mirror that bases are built from and apt's packages come from; `http://deb.debian.org/debian` unless set.",
  ),
  DROVER_PACKAGES_CARGO: registry(
    "Index of the registry that takes the place of crates.io, such as `sparse+https://crates.internal/index/`.",
  ),
  DROVER_PACKAGES_GEM: registry("Base URL of the server that takes the place of rubygems.org."),
  DROVER_PACKAGES_GO: registry(
    "Base URL of the module proxy that takes the place of proxy.golang.org; the public checksum database is not asked then.",
  ),
  DROVER_PACKAGES_NPM: registry(
    "Base URL of the registry that takes the place of registry.npmjs.org.",
  ),
  DROVER_PACKAGES_PIP: registry("URL of the index that takes the place of pypi.org/simple."),
} as const;

type Parsed = { readonly [Name in keyof typeof PACKAGE_SETTINGS]?: string | undefined };

export function packageRegistries(settings: Parsed): PackageRegistrySettings {
  return Object.fromEntries(
    MANAGERS.flatMap((manager) => {
      const url = settings[variableOf(manager)];
      return url === undefined ? [] : [[manager, url]];
    }),
  );
}

/** The settings as the environment has them, for a process that is to have the same. */
export function packageRegistryVariables(
  registries: PackageRegistrySettings,
): Record<string, string> {
  return Object.fromEntries(
    MANAGERS.flatMap((manager) => {
      const url = registries[manager];
      return url === undefined ? [] : [[variableOf(manager), url]];
    }),
  );
}

/** What new sessions' recipes have. */
export function sandboxBase(setting: string): SandboxBase {
  if (setting === "host") return { type: "host" };
  return setting.startsWith("/")
    ? { type: "directory", path: setting }
    : { type: "built", name: setting };
}

const MANAGERS = ["apt", "cargo", "gem", "go", "npm", "pip"] as const;

function variableOf(manager: (typeof MANAGERS)[number]) {
  return `DROVER_PACKAGES_${manager.toUpperCase() as Uppercase<typeof manager>}` as const;
}
