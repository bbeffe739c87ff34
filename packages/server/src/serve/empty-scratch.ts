import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** No upload takes so long, in milliseconds. */
const UPLOAD_MS_MAX = 24 * 60 * 60 * 1000;

/**
 * Takes away what uploads of ended servers have left. Where other servers use the folder now, only
 * what is too old to be theirs.
 */
export async function emptyScratch(folder: string, isShared: boolean): Promise<void> {
  if (!isShared) {
    await rm(folder, { recursive: true, force: true });
    return;
  }
  const oldest = Date.now() - UPLOAD_MS_MAX;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    // Another server may take it away at the same moment.
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest)
      await rm(path, { recursive: true, force: true });
  }
}
