import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LimitsWorld, TESTED_LIMITS } from "../../../core/ports/sandbox-limits.testsuite.ts";
import { cgroupLayout } from "../cgroups/cgroup-layout.ts";
import { counterOf } from "../cgroups/sandbox-group.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";
import { findRecord } from "./process-record.ts";
import { openBubblewrapWorld } from "./test-world.ts";

/** An installation whose sandboxes are limited. */
export async function openLimitsWorld(): Promise<LimitsWorld> {
  const world = await openBubblewrapWorld(TESTED_LIMITS);
  const layout = cgroupLayout(
    readFileSync("/proc/self/cgroup", "utf8"),
    readFileSync("/proc/self/mountinfo", "utf8"),
  );
  const folders = [layout.v1.memory, layout.v1.cpu, layout.v1.pids, layout.v2?.own].flatMap(
    (folder) => folder ?? [],
  );
  return {
    ...world,
    neighbour: openLimitsWorld,
    strict: () =>
      new BubblewrapProvider({
        dataFolder: world.folder,
        blobPath: () => "",
        limits: TESTED_LIMITS,
        enforce: "required",
      }),
    groups: () =>
      folders.flatMap((folder) =>
        readdirSync(folder).filter((name) => /^drover-[0-9a-f]{32}$/.test(name)),
      ).length,
    kill(hand) {
      const record = findRecord(join(world.folder, "hands", hand));
      if (record && "pid" in record) process.kill(record.pid, "SIGKILL");
    },
    throttled(hand) {
      const record = findRecord(join(world.folder, "hands", hand));
      const groups = record && "launch_id" in record ? (record.groups ?? []) : [];
      return Math.max(
        ...groups.map((group) => {
          if (!readdirSync(group).includes("cpu.stat")) return 0;
          return counterOf(readFileSync(join(group, "cpu.stat"), "utf8"), "nr_throttled") ?? 0;
        }),
      );
    },
  };
}
