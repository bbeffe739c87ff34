import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { processStart } from "../hands/protocol/hands-file.ts";
import { writeFileAtomically } from "../lib/write-file-atomically.ts";

/** How `drover stop` finds a server of a data folder. Only a hint: the folder's lock is the truth. */
const ServerFile = z.object({
  pid: z.int().positive(),
  /** With `pid` it names one process for ever; see `processStart`. */
  pid_start: z.string().min(1),
  url: z.string(),
});
export type ServerFile = z.infer<typeof ServerFile>;

/** `isShared`: other servers of the folder have files of their own beside it. */
export async function writeServerFile(data: string, url: string, isShared: boolean): Promise<void> {
  const file = { pid: process.pid, pid_start: await processStart(process.pid), url };
  const name = isShared ? `server-${process.pid}.json` : "server.json";
  await writeFileAtomically(join(data, name), `${JSON.stringify(file)}\n`, { mode: 0o600 });
}

export async function removeServerFile(data: string): Promise<void> {
  for (const { path, file } of await readServerFiles(data)) {
    if (file.pid === process.pid) await rm(path, { force: true });
  }
}

/** The servers that run on the folder. Takes away the files of those that are gone, however they ended. */
export async function findServers(data: string): Promise<readonly ServerFile[]> {
  const living: ServerFile[] = [];
  for (const { path, file } of await readServerFiles(data)) {
    if (await isAlive(file)) living.push(file);
    else if (path !== join(data, "server.json")) await rm(path, { force: true });
  }
  return living;
}

/** One of them, to talk to; undefined if none runs. */
export async function findServer(data: string): Promise<ServerFile | undefined> {
  return (await findServers(data))[0];
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

async function readServerFiles(
  data: string,
): Promise<readonly { readonly path: string; readonly file: ServerFile }[]> {
  const names = await readdir(data).catch(() => []);
  const found = [];
  for (const name of names.filter((each) => /^server(-\d+)?\.json$/.test(each))) {
    const path = join(data, name);
    const file = await readServerFile(path);
    if (file !== undefined) found.push({ path, file });
  }
  return found;
}

async function readServerFile(path: string): Promise<ServerFile | undefined> {
  try {
    const parsed = ServerFile.safeParse(JSON.parse(await readFile(path, "utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch {
    // Absent or unreadable: nobody is found by it, which is what the caller is told.
    return undefined;
  }
}
