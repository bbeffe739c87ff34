import { readFileSync } from "node:fs";
import { cgroupLayout } from "../cgroups/cgroup-layout.ts";

/**
 * Whether sandboxes of this process have groups: root can always make them in version 1, and nobody else
 * can. In version 2 it depends on who delegates what.
 */
export function mustHaveGroups(): boolean | undefined {
  const read = (name: string) => readFileSync(`/proc/self/${name}`, "utf8");
  const { v1 } = cgroupLayout(read("cgroup"), read("mountinfo"));
  if (v1.memory === undefined || v1.cpu === undefined || v1.pids === undefined) return undefined;
  return process.getuid?.() === 0;
}
