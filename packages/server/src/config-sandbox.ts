import type { z } from "zod";
import type { Settings } from "./config-settings.ts";

export interface SandboxLimitSettings {
  /** Absent for no limit, as below. */
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly processes: number;
  /** Of each process. */
  readonly openFiles: number;
  readonly diskBytes?: number;
  readonly enforce: "required" | "where_possible";
}

/** How long sandboxes live, and what is kept of them. */
export interface SandboxLifeSettings {
  readonly idleMs: number;
  /** 0 for keeping nothing. */
  readonly checkpointBytesMax: number;
  readonly cacheBytesMax: number;
  /** Kept ready for new sessions. */
  readonly sparesMax: number;
}

export function sandboxLife(settings: z.output<typeof Settings>): SandboxLifeSettings {
  return {
    idleMs: settings.DROVER_SANDBOX_IDLE_SECONDS * 1_000,
    checkpointBytesMax: settings.DROVER_SANDBOX_KEEP_MB * MB,
    cacheBytesMax: settings.DROVER_SANDBOX_CACHE_MB * MB,
    sparesMax: settings.DROVER_SANDBOX_WARM,
  };
}

/** As `sandboxLimitVariables`. */
export function sandboxLifeVariables(life: SandboxLifeSettings): Record<string, string> {
  return {
    DROVER_SANDBOX_IDLE_SECONDS: String(life.idleMs / 1_000),
    DROVER_SANDBOX_KEEP_MB: String(life.checkpointBytesMax / MB),
    DROVER_SANDBOX_CACHE_MB: String(life.cacheBytesMax / MB),
    DROVER_SANDBOX_WARM: String(life.sparesMax),
  };
}

const MB = 1024 * 1024;

export function sandboxLimits(settings: z.output<typeof Settings>): SandboxLimitSettings {
  const { DROVER_SANDBOX_MEMORY_MB: memory, DROVER_SANDBOX_CPUS: cpus } = settings;
  const { DROVER_SANDBOX_DISK_MB: disk } = settings;
  return {
    ...(memory > 0 && { memoryBytes: memory * MB }),
    ...(cpus > 0 && { cpus }),
    processes: settings.DROVER_SANDBOX_PROCESSES,
    openFiles: settings.DROVER_SANDBOX_OPEN_FILES,
    ...(disk > 0 && { diskBytes: disk * MB }),
    enforce: settings.DROVER_SANDBOX_ENFORCE,
  };
}

/** The settings as the environment has them, for a process that is to have the same. */
export function sandboxLimitVariables(limits: SandboxLimitSettings): Record<string, string> {
  const { memoryBytes = 0, cpus = 0, diskBytes = 0, processes, openFiles, enforce } = limits;
  return {
    DROVER_SANDBOX_MEMORY_MB: String(memoryBytes / MB),
    DROVER_SANDBOX_CPUS: String(cpus),
    DROVER_SANDBOX_PROCESSES: String(processes),
    DROVER_SANDBOX_OPEN_FILES: String(openFiles),
    DROVER_SANDBOX_DISK_MB: String(diskBytes / MB),
    DROVER_SANDBOX_ENFORCE: enforce,
  };
}
