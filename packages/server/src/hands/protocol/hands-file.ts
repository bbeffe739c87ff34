import { randomUUID } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomically } from "../../lib/write-file-atomically.ts";

export const PROTOCOL_VERSION = 5;

/** How a hands process exits that finds others running for its data folder (`EX_TEMPFAIL`). */
export const HANDS_RUNNING_EXIT_CODE = 75;

export const HandsAddress = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("socket"), path: z.string().min(1) }),
  z.strictObject({ type: z.literal("port"), port: z.int().min(1).max(65_535) }),
]);
export type HandsAddress = z.infer<typeof HandsAddress>;

/** How to find the hands of a data folder and speak to them. Secret: it has the token. */
export const HandsFile = z.object({
  installation_id: z.string().min(1),
  boot: z.string().min(1),
  pid: z.int().positive(),
  /** The process's start in clock ticks since the machine's; with `pid` it names one process for ever. */
  pid_start: z.string(),
  address: HandsAddress,
  token: z.string().min(32),
  protocol: z.int().positive(),
  /** What these hands let sandboxes reach, as `networkMark` writes it; absent where nobody asked. */
  network: z.string().optional(),
});
export type HandsFile = z.infer<typeof HandsFile>;

const UNIX_PATH_BYTES_MAX = 107;

export function handsFilePath(dataDir: string): string {
  return join(dataDir, "hands.json");
}

/** Undefined if there is none, or none that can be read as one: both mean that nobody is found by it. */
export async function readHandsFile(dataDir: string): Promise<HandsFile | undefined> {
  const text = await readIfPresent(handsFilePath(dataDir));
  if (text === undefined) return undefined;
  const parsed = HandsFile.safeParse(parseJson(text));
  return parsed.success ? parsed.data : undefined;
}

export async function writeHandsFile(dataDir: string, file: HandsFile): Promise<void> {
  await writeFileAtomically(handsFilePath(dataDir), `${JSON.stringify(file, null, 2)}\n`, {
    mode: 0o600,
  });
}

/** Deletes the file, but only while it is this boot's. */
export async function removeHandsFile(dataDir: string, boot: string): Promise<void> {
  const file = await readHandsFile(dataDir);
  if (file?.boot === boot) await rm(handsFilePath(dataDir), { force: true });
}

/**
 * The name of the data folder's installation, made on first use. Sandboxes carry it, so that nobody
 * ends another installation's.
 */
export async function installationId(dataDir: string): Promise<string> {
  const path = join(dataDir, "installation-id");
  const present = await readIfPresent(path);
  if (present !== undefined) return present.trim();
  const draft = `${path}.${randomUUID()}.tmp`;
  await writeFile(draft, `inst_${randomUUID().replaceAll("-", "")}\n`, { mode: 0o600, flag: "wx" });
  try {
    // A link, not a rename: of several processes that come first together, one wins for all.
    await link(draft, path);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(path, "utf8")).trim();
}

/** A Unix socket in the data folder where its path is short enough for the kernel, else any free port. */
export function socketPath(dataDir: string): string | undefined {
  const path = join(dataDir, "hands.sock");
  return Buffer.byteLength(path) <= UNIX_PATH_BYTES_MAX ? path : undefined;
}

/**
 * When the process started, from `/proc`; empty if it is gone, also if it is dead and only waits for
 * its parent to ask, and where the system has no `/proc`.
 */
export async function processStart(pid: number): Promise<string> {
  const stat = await readIfPresent(`/proc/${pid}/stat`);
  // The command's name comes first, in brackets, and may hold spaces and brackets itself.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isDead = fields?.[0] === "Z" || fields?.[0] === "X";
  return isDead ? "" : (fields?.[19] ?? "");
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ESRCH")) return undefined;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
