import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LimitHit } from "../../../core/sandboxes/limits.ts";
import type { Controller } from "./cgroup-layout.ts";

const PERIOD_US = 100_000;
/** Reclaiming goes on until little is missing, so that the highest use may stay this much below a limit. */
const NEARLY = 0.9;

/** What the groups of a sandbox limit; each only if it is there. */
export interface GroupLimits {
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly processes?: number;
}

/** A folder and the controllers that count in it. */
export interface GroupPart {
  readonly version: 1 | 2;
  readonly folder: string;
  readonly controllers: readonly Controller[];
}

interface Counters {
  readonly memoryKills: number;
  readonly forksRefused: number;
  /** Whether the group's own limit was why, and not the want of what it is part of. */
  readonly hasMetOwnLimit: boolean;
}

/** The control groups of one sandbox. */
export class SandboxGroup {
  readonly #parts: readonly GroupPart[];
  readonly #limits: GroupLimits;
  #seen: Counters = { memoryKills: 0, forksRefused: 0, hasMetOwnLimit: false };
  #told: Counters = this.#seen;

  constructor(parts: readonly GroupPart[], limits: GroupLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  get folders(): readonly string[] {
    return this.#parts.map(({ folder }) => folder);
  }

  /** Makes the groups, empty, with their limits set. Their folders may be there already. */
  make(): void {
    for (const { folder, version, controllers } of this.#parts) {
      mkdirSync(folder, { recursive: true });
      for (const [file, value, isNeeded] of settings(version, controllers, this.#limits)) {
        set(join(folder, file), value, isNeeded);
      }
    }
  }

  /** Counts what has happened up to now; once the groups are removed, up to then. */
  observe(): void {
    const { memoryKills, forksRefused, hasMetOwnLimit } = this.#seen;
    this.#seen = {
      memoryKills: this.#memory("oom_kill") ?? memoryKills,
      forksRefused: this.#count("pids", () => ["pids.events", "max"]) ?? forksRefused,
      hasMetOwnLimit: this.#hasMetOwnLimit() ?? hasMetOwnLimit,
    };
  }

  /** The limits that were met since this was asked the last time. */
  takeHits(): readonly LimitHit[] {
    this.observe();
    const before = this.#told;
    this.#told = this.#seen;
    const { memoryBytes, processes } = this.#limits;
    const hits: LimitHit[] = [];
    if (this.#seen.memoryKills > before.memoryKills && memoryBytes !== undefined) {
      const own = { type: "memory", limitBytes: memoryBytes } as const;
      hits.push(this.#seen.hasMetOwnLimit ? own : { type: "machine_memory" });
    }
    if (this.#seen.forksRefused > before.forksRefused && processes !== undefined) {
      hits.push({ type: "processes", limit: processes });
    }
    return hits;
  }

  /** The kernel counts a process here that it has ended for want of memory, whoever's that was. */
  #hasMetOwnLimit(): boolean | undefined {
    const { memoryBytes } = this.#limits;
    const part = this.#part("memory");
    if (part === undefined || memoryBytes === undefined) return undefined;
    if (part.version === 2) {
      const met = this.#memory("oom");
      return met === undefined ? undefined : met > 0;
    }
    const highest = readIfThere(join(part.folder, "memory.max_usage_in_bytes"));
    return highest === undefined ? undefined : Number(highest) >= memoryBytes * NEARLY;
  }

  #memory(name: string): number | undefined {
    return this.#count("memory", (version) =>
      version === 1 ? ["memory.oom_control", name] : ["memory.events", name],
    );
  }

  #count(
    controller: Controller,
    place: (version: 1 | 2) => readonly [file: string, name: string],
  ): number | undefined {
    const part = this.#part(controller);
    if (part === undefined) return undefined;
    const [file, name] = place(part.version);
    const text = readIfThere(join(part.folder, file));
    return text === undefined ? undefined : counterOf(text, name);
  }

  #part(controller: Controller): GroupPart | undefined {
    return this.#parts.find(({ controllers }) => controllers.includes(controller));
  }
}

type Setting = readonly [file: string, value: number | string, isNeeded: boolean];

/** In the order in which they must be written. */
function settings(
  version: 1 | 2,
  controllers: readonly Controller[],
  { memoryBytes, cpus, processes }: GroupLimits,
): Setting[] {
  const found: Setting[] = [];
  if (controllers.includes("memory") && memoryBytes !== undefined) {
    if (version === 1) {
      found.push(["memory.limit_in_bytes", memoryBytes, true]);
      // Absent where the kernel does not count swap; then nothing of the group is to be put there.
      found.push(["memory.memsw.limit_in_bytes", memoryBytes, false]);
      found.push(["memory.swappiness", 0, false]);
    } else {
      found.push(["memory.max", memoryBytes, true], ["memory.swap.max", 0, false]);
    }
  }
  if (controllers.includes("cpu") && cpus !== undefined) {
    const quota = Math.max(1_000, Math.round(cpus * PERIOD_US));
    if (version === 1) {
      found.push(["cpu.cfs_period_us", PERIOD_US, true], ["cpu.cfs_quota_us", quota, true]);
    } else {
      found.push(["cpu.max", `${quota} ${PERIOD_US}`, true]);
    }
  }
  if (controllers.includes("pids") && processes !== undefined) {
    found.push(["pids.max", processes, true]);
  }
  return found;
}

/** No file is made: a group has the files that its kernel knows. */
function set(path: string, value: number | string, isNeeded: boolean): void {
  try {
    writeFileSync(path, `${value}\n`, { flag: "r+" });
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isNeeded || !isAbsent) throw error;
  }
}

/** The number after the name, in lines of a name and a number. */
export function counterOf(text: string, name: string): number | undefined {
  for (const line of text.split("\n")) {
    const [key, value] = line.split(" ");
    if (key === name && value !== undefined) return Number(value);
  }
  return undefined;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    // ENODEV where the group was removed between opening and reading.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENODEV") return undefined;
    throw error;
  }
}
