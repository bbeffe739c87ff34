import { type InstallationWorld, openInstallation } from "../local/installation-world.ts";
import type { SandboxLimits } from "../local/sandbox-layout.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";

export type BubblewrapWorld = InstallationWorld;

/** An installation in a folder that nobody else can enter. */
export function openBubblewrapWorld(limits: Partial<SandboxLimits> = {}): Promise<BubblewrapWorld> {
  return openInstallation((options) => new BubblewrapProvider(options), limits);
}
