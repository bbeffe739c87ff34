import { chmod, type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { assertMembers, CONTENT_BYTES_MAX, MEMBERS_MAX } from "../../core/archives/member-rules.ts";
import { PlatformError } from "../../core/errors.ts";
import { SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import { skillFolder } from "../../core/skills/manifest.ts";
import { type Archive, ArchiveError } from "../../lib/archive/archive.ts";
import { openZip } from "../../lib/archive/zip-archive.ts";
import { failPoint } from "../../lib/fail-point.ts";

const LIMITS = { membersMax: MEMBERS_MAX, bytesMax: CONTENT_BYTES_MAX };

/**
 * Unpacks a skill's archive into `target`, which must not exist and which no sandbox can write. The
 * archive is trusted as little as when it was uploaded: all rules are looked at again before anything
 * is written. Files are what everybody may read, and run if the archive says so. Gives the bytes of all
 * of them. Rejects with `SandboxUnavailableError`, and then some of it may lie there.
 */
export async function extractSkill(zip: string, name: string, target: string): Promise<number> {
  try {
    await using archive = await openZip(zip, LIMITS);
    assertMembers(archive.members);
    const folder = skillFolder(archive.members);
    if (folder !== name) throw new ArchiveError(`has the folder ${folder} and not ${name}`);
    return await unpack(archive, folder.length, target);
  } catch (error) {
    if (!(error instanceof ArchiveError || error instanceof PlatformError)) throw error;
    const reason = error instanceof ArchiveError ? `its archive ${error.message}` : error.message;
    throw new SandboxUnavailableError(`the skill ${name} cannot be unpacked: ${reason}`, {
      cause: error,
    });
  }
}

async function unpack(archive: Archive, prefix: number, target: string): Promise<number> {
  await makeFolder(target);
  const made = new Set([target]);
  for (const { path, kind } of archive.members) {
    const folder = join(target, path.slice(prefix));
    if (kind === "folder") await makeFolders(folder.replace(/\/$/, ""), made);
  }
  let bytesWritten = 0;
  for await (const { member, bytes } of archive.contents()) {
    failPoint("hands.skill.before_file");
    const file = join(target, member.path.slice(prefix));
    await makeFolders(dirname(file), made);
    bytesWritten += await writeNew(file, bytes);
    // Whatever the umask: a sandbox has another uid.
    await chmod(file, member.isExecutable ? 0o555 : 0o444);
  }
  return bytesWritten;
}

async function makeFolders(folder: string, made: Set<string>): Promise<void> {
  if (made.has(folder)) return;
  await makeFolders(dirname(folder), made);
  await makeFolder(folder);
  made.add(folder);
}

/** Traversable by sandboxes whatever the umask is. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder);
  await chmod(folder, 0o755);
}

async function writeNew(path: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of content) {
      await writeAll(file, chunk);
      size += chunk.byteLength;
    }
  } finally {
    await file.close();
  }
  return size;
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await file.write(chunk, at)).bytesWritten;
}
