import { randomBytes } from "node:crypto";
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { PROVIDER_NAMES, type ProviderName } from "../../../core/sandboxes/providers.ts";
import { removeGroups } from "../cgroups/remove-groups.ts";
import { bootId, endLaunch, endProcess, identify } from "./process-table.ts";

const BOOT = { boot_id: z.string().min(1) };
const START_TIME = z.string().regex(/^\d+$/);
/** Of everything that a launch makes on the host. Written before there is any of it. */
const LAUNCH = {
  /** Random. The last argument of the launcher, of bubblewrap and of the agent. */
  launch_id: z.string().regex(/^[0-9a-f]{32}$/),
  /** The start time of the process that launched it. */
  since: START_TIME,
  /** Who launched it; absent for bubblewrap. A container has the launch's id in its name. */
  provider: z.enum(PROVIDER_NAMES).optional(),
  /** Folders of its control groups, if it has any. */
  groups: z.array(z.string().startsWith("/")).readonly().optional(),
  /** Where a container's disk is mounted while it is started, if it has one. */
  mount: z.string().startsWith("/").optional(),
};
/** The first process of the sandbox's pid namespace. When it is gone, so are all processes of the sandbox. */
const FIRST_PROCESS = { pid: z.number().int().min(2), start_time: START_TIME };

const LaunchRecord = z.strictObject({ ...BOOT, ...LAUNCH });
export type LaunchRecord = z.infer<typeof LaunchRecord>;

/** Written before the agent is asked anything: from then on, code that nobody trusts may run. */
const ProcessRecord = z.strictObject({ ...BOOT, ...LAUNCH, ...FIRST_PROCESS });
export type ProcessRecord = z.infer<typeof ProcessRecord>;

/** As it was before launches had ids. */
const EarlierRecord = z.strictObject({ ...BOOT, ...FIRST_PROCESS });

const SandboxRecord = z.union([ProcessRecord, LaunchRecord, EarlierRecord]);
export type SandboxRecord = z.infer<typeof SandboxRecord>;

const RECORD_FILE = "sandbox.json";
const LAUNCH_ID_BYTES = 16;

/** Of a sandbox that this process is about to launch. */
export function recordLaunch(): LaunchRecord {
  const self = identify(process.pid);
  if (!self) throw new Error("this process is not in /proc");
  const launch_id = randomBytes(LAUNCH_ID_BYTES).toString("hex");
  return { boot_id: bootId(), launch_id, since: self.start_time };
}

/** Who can end it. */
export function providerOf(record: SandboxRecord): ProviderName {
  return ("launch_id" in record && record.provider) || "bubblewrap";
}

/** Not synced to disk: the record is about processes of this boot, which no power loss survives. */
export function saveRecord(handFolder: string, record: LaunchRecord | ProcessRecord): void {
  const draft = join(handFolder, `${RECORD_FILE}.tmp`);
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  renameSync(draft, join(handFolder, RECORD_FILE));
}

/** Of a sandbox that is gone. A record of another one, made since, stays. */
export function forgetRecord(handFolder: string, record: SandboxRecord): void {
  const found = findRecord(handFolder);
  if (found && isSame(found, record)) rmSync(join(handFolder, RECORD_FILE), { force: true });
}

function isSame(one: SandboxRecord, other: SandboxRecord): boolean {
  if ("launch_id" in one) return "launch_id" in other && one.launch_id === other.launch_id;
  return "pid" in other && one.pid === other.pid && one.start_time === other.start_time;
}

/**
 * Undefined if there is none. A file that is not a record throws, because what it meant cannot be
 * proved dead; unless it is older than this boot, and was cut when the machine stopped.
 */
export function findRecord(handFolder: string): SandboxRecord | undefined {
  const file = join(handFolder, RECORD_FILE);
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return SandboxRecord.parse(JSON.parse(content));
  } catch (cause) {
    if (lstatSync(file).mtimeMs < Date.now() - uptime() * 1000) return undefined;
    throw new Error(`${file} is not the record of a sandbox`, { cause });
  }
}

/**
 * Kills what is left of the recorded sandbox, however far its making had come, and resolves when none of
 * its processes is left. Rejects when that cannot be reached in time.
 */
export async function endRecorded(record: SandboxRecord, deadlineMs: number): Promise<void> {
  if (record.boot_id !== bootId()) return;
  // First the inside: the command lines in it are whatever the code in there likes.
  if ("pid" in record) await endProcess(record, deadlineMs);
  if (!("launch_id" in record)) return;
  await endLaunch(record.launch_id, record.since, deadlineMs);
  await removeGroups(record.groups ?? [], deadlineMs);
}
