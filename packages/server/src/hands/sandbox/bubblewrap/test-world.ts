import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { CrashWorld } from "../local/crash.testsuite.ts";
import { openInstallation, type ProviderWorld } from "../local/installation-world.ts";
import type { SandboxLimits } from "../local/sandbox-layout.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";
import { mustHaveGroups } from "./must-have-groups.ts";

export type BubblewrapWorld = ProviderWorld;

const PROVIDER = pathToFileURL(join(import.meta.dirname, "bubblewrap-provider.ts")).href;
const CODE = `
const { BubblewrapProvider } = await import(${JSON.stringify(PROVIDER)});
const provider = new BubblewrapProvider(options);
`;

/** An installation in a folder that nobody else can enter. */
export async function openBubblewrapWorld(
  limits: Partial<SandboxLimits> = {},
): Promise<BubblewrapWorld> {
  const world = await openInstallation((options) => new BubblewrapProvider(options), limits);
  return { ...world, code: CODE };
}

export async function openBubblewrapCrashes(): Promise<CrashWorld> {
  return {
    ...(await openBubblewrapWorld()),
    async made(record) {
      const groups = ("launch_id" in record && record.groups) || [];
      return groups.filter((folder) => existsSync(folder));
    },
    mustHave: mustHaveGroups,
  };
}
