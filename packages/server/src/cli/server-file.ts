import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { processStart } from "../hands/protocol/hands-file.ts";
import { writeFileAtomically } from "../lib/write-file-atomically.ts";

/** How `drover stop` finds the server of a data folder. Only a hint: the folder's lock is the truth. */
const ServerFile = z.object({
  pid: z.int().positive(),
  /** With `pid` it names one process for ever; see `processStart`. */
  pid_start: z.string().min(1),
  url: z.string(),
});
export type ServerFile = z.infer<typeof ServerFile>;

export async function writeServerFile(data: string, url: string): Promise<void> {
  const file = { pid: process.pid, pid_start: await processStart(process.pid), url };
  await writeFileAtomically(pathIn(data), `${JSON.stringify(file)}\n`, { mode: 0o600 });
}

export async function removeServerFile(data: string): Promise<void> {
  const file = await readServerFile(data);
  if (file?.pid === process.pid) await rm(pathIn(data), { force: true });
}

/** Undefined if there is none or its process is gone, however it ended. */
export async function findServer(data: string): Promise<ServerFile | undefined> {
  const file = await readServerFile(data);
  return file !== undefined && (await isAlive(file)) ? file : undefined;
}

/** True while the very process of the file runs; a later one that got its number is another. */
export async function isAlive(file: Pick<ServerFile, "pid" | "pid_start">): Promise<boolean> {
  try {
    process.kill(file.pid, 0);
  } catch (error) {
    // EPERM: it is there, but another user's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return (await processStart(file.pid)) === file.pid_start && !(await isZombie(file.pid));
}

/** Dead, and only not yet asked about by the process that started it, which may never do so. */
async function isZombie(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

async function readServerFile(data: string): Promise<ServerFile | undefined> {
  try {
    const parsed = ServerFile.safeParse(JSON.parse(await readFile(pathIn(data), "utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch {
    // Absent or unreadable: nobody is found by it, which is what the caller is told.
    return undefined;
  }
}

function pathIn(data: string): string {
  return join(data, "server.json");
}
