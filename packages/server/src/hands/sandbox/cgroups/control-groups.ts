import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CgroupLayout, CONTROLLERS, type Controller, cgroupLayout } from "./cgroup-layout.ts";
import { GROUP_PREFIX } from "./remove-groups.ts";
import { type GroupLimits, type GroupPart, SandboxGroup } from "./sandbox-group.ts";

/** Tried where no limit is set. Any that a kernel takes: the group stays empty. */
const TRIED: Required<GroupLimits> = { memoryBytes: 64 * 1024 * 1024, cpus: 1, processes: 64 };

/** Where groups of a controller can be made. */
interface Place {
  readonly version: 1 | 2;
  readonly folder: string;
}

/** The control groups that this process can make for sandboxes, below or beside its own. */
export class ControlGroups {
  readonly #places: ReadonlyMap<Controller, Place>;

  private constructor(places: ReadonlyMap<Controller, Place>) {
    this.#places = places;
  }

  /**
   * Finds out by trying the limits on a group that is removed at once; `installation` names it, so that
   * one which a killed process has left is removed by the next.
   */
  static find(
    installation: string,
    limits: GroupLimits,
    layout: CgroupLayout = ownLayout(),
  ): ControlGroups {
    const tried = { ...TRIED, ...limits };
    const digest = createHash("sha256").update(installation).digest("hex").slice(0, 16);
    const places = new Map<Controller, Place>();
    for (const controller of CONTROLLERS) {
      const place = candidates(layout, controller).find((candidate) =>
        isUsable(candidate, controller, { name: `${GROUP_PREFIX}trial-${digest}`, tried }),
      );
      if (place) places.set(controller, place);
    }
    return new ControlGroups(places);
  }

  can(controller: Controller): boolean {
    return this.#places.has(controller);
  }

  /** Not made yet. Undefined where none of the limits can be enforced. The id is part of the name. */
  plan(id: string, limits: GroupLimits): SandboxGroup | undefined {
    const wanted: Record<Controller, number | undefined> = {
      memory: limits.memoryBytes,
      cpu: limits.cpus,
      pids: limits.processes,
    };
    const parts = new Map<string, GroupPart>();
    for (const [controller, place] of this.#places) {
      if (wanted[controller] === undefined) continue;
      const folder = join(place.folder, `${GROUP_PREFIX}${id}`);
      const controllers = [...(parts.get(folder)?.controllers ?? []), controller];
      parts.set(folder, { version: place.version, folder, controllers });
    }
    return parts.size === 0 ? undefined : new SandboxGroup([...parts.values()], limits);
  }
}

function ownLayout(): CgroupLayout {
  if (process.platform !== "linux") return { v1: {} };
  const read = (name: string) => readFileSync(`/proc/self/${name}`, "utf8");
  return cgroupLayout(read("cgroup"), read("mountinfo"));
}

function candidates({ v1, v2 }: CgroupLayout, controller: Controller): Place[] {
  const first = v1[controller];
  if (first !== undefined) return [{ version: 1, folder: first }];
  return [v2?.own, v2?.above].flatMap((folder) =>
    folder === undefined ? [] : [{ version: 2 as const, folder }],
  );
}

/** Leaves no trace but, in version 2, the controller switched on for the groups below. */
function isUsable(
  place: Place,
  controller: Controller,
  { name, tried }: { name: string; tried: GroupLimits },
): boolean {
  const folder = join(place.folder, name);
  try {
    if (place.version === 2) switchOn(place.folder, controller);
    // Whoever moves a process must be allowed to write here as well as in the group.
    accessSync(join(place.folder, "cgroup.procs"), constants.W_OK);
    const part: GroupPart = { version: place.version, folder, controllers: [controller] };
    try {
      new SandboxGroup([part], tried).make();
      return true;
    } finally {
      rmdirSync(folder);
    }
  } catch {
    // Whatever the reason: read-only, not delegated, not this kernel's. `doctor` tells that it is so.
    return false;
  }
}

/** Throws where the controller is not to be had, or the group has processes and so cannot divide it. */
function switchOn(folder: string, controller: Controller): void {
  const path = join(folder, "cgroup.subtree_control");
  if (readFileSync(path, "utf8").trim().split(" ").includes(controller)) return;
  const available = readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(" ");
  if (!available.includes(controller)) throw new Error(`${folder} has no controller ${controller}`);
  writeFileSync(path, `+${controller}\n`, { flag: "r+" });
}
