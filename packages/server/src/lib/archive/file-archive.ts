import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Archive, ArchiveError, type ArchiveLimits, type ArchiveMember } from "./archive.ts";

interface LooseFile {
  readonly member: ArchiveMember;
  /** Where its content is. */
  readonly file: string;
}

/** Files that lie somewhere under other names, as an archive. */
export function archiveOfFiles(files: readonly LooseFile[]): Archive {
  return {
    members: files.map(({ member }) => member),
    contents: async function* () {
      for (const { member, file } of files) {
        if (member.kind === "file") yield { member, bytes: readWhole(file, member.size) };
      }
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** A folder on disk as an archive, under the folder's own name `name`. Links are not followed. */
export async function archiveOfFolder(
  folder: string,
  name: string,
  limits: ArchiveLimits,
): Promise<Archive> {
  const files: LooseFile[] = [];
  const rest = [{ path: name, file: folder }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    for (const entry of (await readdir(next.file)).sort()) {
      const file = join(next.file, entry);
      const path = `${next.path}/${entry}`;
      const stats = await lstat(file);
      if (stats.isDirectory()) rest.push({ path, file });
      else files.push({ member: memberOf(path, stats), file });
      if (files.length + rest.length > limits.membersMax) {
        throw new ArchiveError(`has more than ${limits.membersMax} members`);
      }
    }
  }
  return archiveOfFiles(files);
}

function memberOf(path: string, stats: { isFile(): boolean; size: number; mode: number }) {
  return {
    path,
    kind: stats.isFile() ? "file" : "other",
    size: stats.size,
    isEncrypted: false,
    isExecutable: (stats.mode & 0o111) !== 0,
  } as const;
}

async function* readWhole(path: string, size: number): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    read += chunk.byteLength;
    yield chunk;
  }
  if (read !== size) throw new ArchiveError("changed while it was read");
}
