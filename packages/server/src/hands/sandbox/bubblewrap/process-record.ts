import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

/** The first process of a sandbox's pid namespace. When it is gone, so are all processes of the sandbox. */
const ProcessRecord = z.strictObject({
  pid: z.number().int().min(2),
  /** Clock ticks since boot, as `/proc/PID/stat` has it: tells the process from a later one of that pid. */
  start_time: z.string().regex(/^\d+$/),
  boot_id: z.string().min(1),
});
export type ProcessRecord = z.infer<typeof ProcessRecord>;

const RECORD_FILE = "sandbox.json";
const POLL_MS_MAX = 20;

/** Undefined if there is no such process. */
export function recordProcess(pid: number): ProcessRecord | undefined {
  const seen = observe(pid);
  return seen && { pid, start_time: seen.startTime, boot_id: bootId() };
}

/** Not synced to disk: the record is about processes of this boot, which no power loss survives. */
export function saveRecord(handFolder: string, record: ProcessRecord): void {
  const draft = join(handFolder, `${RECORD_FILE}.tmp`);
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  renameSync(draft, join(handFolder, RECORD_FILE));
}

/** Of a process that is gone. A record of another one, made since, stays. */
export function forgetRecord(handFolder: string, record: ProcessRecord): void {
  const found = findRecord(handFolder);
  if (found?.pid !== record.pid || found.start_time !== record.start_time) return;
  rmSync(join(handFolder, RECORD_FILE), { force: true });
}

/**
 * Undefined if there is none. A file that is not a record throws, because what it meant cannot be
 * proved dead; unless it is older than this boot, and was cut when the machine stopped.
 */
export function findRecord(handFolder: string): ProcessRecord | undefined {
  const file = join(handFolder, RECORD_FILE);
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return ProcessRecord.parse(JSON.parse(content));
  } catch (cause) {
    if (lstatSync(file).mtimeMs < Date.now() - uptime() * 1000) return undefined;
    throw new Error(`${file} is not the record of a sandbox`, { cause });
  }
}

/**
 * Kills the namespace of the recorded process and resolves when none of its processes is left. Touches
 * no process that merely has the same pid. Rejects when that cannot be reached in time.
 */
export async function endProcess(record: ProcessRecord, deadlineMs: number): Promise<void> {
  if (record.boot_id !== bootId()) return;
  const giveUpAt = performance.now() + deadlineMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, POLL_MS_MAX)) {
    const seen = observe(record.pid);
    if (!seen || seen.startTime !== record.start_time) return;
    if (!kill(record.pid)) return;
    // The kernel lets the first process become a zombie only after it has waited for all others. A
    // zombie with further threads is not at its end: code in the sandbox may have put them there.
    if (seen.isZombie && seen.threads <= 1) return;
    if (performance.now() > giveUpAt) {
      throw new Error(`process ${record.pid} of a sandbox does not end`);
    }
    await sleep(pauseMs);
  }
}

/** False if there is no such process. */
function kill(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}

interface Observation {
  readonly startTime: string;
  readonly isZombie: boolean;
  readonly threads: number;
}

function observe(pid: number): Observation | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    // ENOENT, or ESRCH where it ended between opening and reading.
    return undefined;
  }
  // The name before the last parenthesis may hold anything. Then: state, ppid, … (proc(5), fields 3 on).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  return {
    startTime: fields[19] ?? "",
    isZombie: state === "Z" || state === "X",
    threads: Number(fields[17]),
  };
}

let cachedBootId: string | undefined;

function bootId(): string {
  cachedBootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return cachedBootId;
}
