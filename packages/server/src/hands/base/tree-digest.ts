import { createHash, type Hash } from "node:crypto";
import { createReadStream, type Dirent } from "node:fs";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** What differs between two that were made from the same packages. */
const PASSING = new Set(["/var/log", "/var/cache", "/etc/machine-id", "/etc/hostname"]);

const WHOLE_BYTES_MAX = 4 * 1024 * 1024;

/** Lowercase hex SHA-256 of what a tree holds: names, kinds, permissions and content, not times or owners. */
export async function treeDigest(root: string): Promise<string> {
  const hash = createHash("sha256");
  await addFolder(hash, root, "");
  return hash.digest("hex");
}

async function addFolder(hash: Hash, root: string, folder: string): Promise<void> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`;
    if (PASSING.has(path)) continue;
    const { mode, size } = await lstat(join(root, path));
    hash.update(JSON.stringify([path, mode, entry.isFile() ? size : null]));
    await addContent(hash, root, path, entry);
  }
}

async function addContent(hash: Hash, root: string, path: string, entry: Dirent): Promise<void> {
  if (entry.isDirectory()) await addFolder(hash, root, path);
  else if (entry.isSymbolicLink()) hash.update(await readlink(join(root, path)));
  else if (entry.isFile()) {
    const [file, { size }] = [join(root, path), await lstat(join(root, path))];
    // Most are small, and a stream for each takes several times as long.
    if (size <= WHOLE_BYTES_MAX) hash.update(await readFile(file));
    else {
      await pipeline(createReadStream(file), async (chunks) => {
        for await (const chunk of chunks) hash.update(chunk);
      });
    }
  }
}
