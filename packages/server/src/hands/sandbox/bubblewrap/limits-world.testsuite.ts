import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LimitsWorld, TESTED_LIMITS } from "../../../core/ports/sandbox-limits.testsuite.ts";
import { counterOf } from "../cgroups/sandbox-group.ts";
import { findRecord } from "../local/process-record.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";
import { mustHaveGroups } from "./must-have-groups.ts";
import { openBubblewrapWorld } from "./test-world.ts";

/** An installation whose sandboxes are limited. */
export async function openLimitsWorld(): Promise<LimitsWorld> {
  const world = await openBubblewrapWorld(TESTED_LIMITS);
  const seen = new Set<string>();
  const groupsOf = (hand: string): readonly string[] => {
    const record = findRecord(join(world.folder, "hands", hand));
    return record && "launch_id" in record ? (record.groups ?? []) : [];
  };
  return {
    ...world,
    mustLimit: mustHaveGroups(),
    neighbour: openLimitsWorld,
    strict: () =>
      new BubblewrapProvider({
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
      const record = findRecord(join(world.folder, "hands", hand));
      if (record && "pid" in record) process.kill(record.pid, "SIGKILL");
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
