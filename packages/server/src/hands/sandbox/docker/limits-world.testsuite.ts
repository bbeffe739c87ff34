import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LimitsWorld, TESTED_LIMITS } from "../../../core/ports/sandbox-limits.testsuite.ts";
import { counterOf } from "../cgroups/sandbox-group.ts";
import { openInstallation } from "../local/installation-world.ts";
import { findRecord } from "../local/process-record.ts";
import { containerGroup } from "./container-group.ts";
import { dockerProvider } from "./test-world.ts";

/** An installation whose containers are limited. */
export async function openDockerLimits(
  engine: { readonly socketPath: string },
  name: "docker" | "gvisor",
): Promise<LimitsWorld> {
  const provide = dockerProvider(engine, name);
  const world = await openInstallation(provide, TESTED_LIMITS);
  const seen = new Set<string>();
  const pidOf = (hand: string) => {
    const record = findRecord(join(world.folder, "hands", hand));
    return record && "pid" in record ? record.pid : undefined;
  };
  const groupsOf = (hand: string): readonly string[] => {
    const pid = pidOf(hand);
    return pid === undefined ? [] : (containerGroup(pid, {})?.folders ?? []);
  };
  return {
    ...world,
    isSlow: true,
    mustLimit: true,
    goLater: true,
    hasOwnKernel: name === "gvisor",
    neighbour: () => openDockerLimits(engine, name),
    strict: () =>
      provide({
        dataFolder: world.folder,
        blobPath: () => "",
        limits: TESTED_LIMITS,
        enforce: "required",
      }),
    groups() {
      for (const hand of readdirSync(join(world.folder, "hands"))) {
        for (const group of groupsOf(hand)) seen.add(group);
      }
      return [...seen].filter((group) => existsSync(group)).length;
    },
    kill(hand) {
      const pid = pidOf(hand);
      if (pid !== undefined) process.kill(pid, "SIGKILL");
    },
    throttled(hand) {
      return Math.max(
        ...groupsOf(hand).map((group) => {
          if (!readdirSync(group).includes("cpu.stat")) return 0;
          return counterOf(readFileSync(join(group, "cpu.stat"), "utf8"), "nr_throttled") ?? 0;
        }),
      );
    },
  };
}
