import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Deleting millions of files takes its time. */
const REMOVE_MS = 10 * 60_000;

/**
 * Deletes a folder that sandboxes have written, following no symbolic link. By `rm`, which goes down
 * by descriptors: trees deeper than a path may be long, which Node's `fs.rm` cannot name, go too. No
 * process of the sandbox may be left. `writable` are the folders in which a sandbox may have taken
 * permissions from itself.
 */
export async function removeFolder(folder: string, writable: readonly string[]): Promise<void> {
  const options = { env: {}, cwd: "/", timeout: REMOVE_MS };
  const remove = () => run("/bin/rm", ["-rf", "--one-file-system", "--", folder], options);
  try {
    await remove();
  } catch {
    const present = writable.filter((path) => existsSync(path));
    await run("/bin/chmod", ["-R", "u+rwX", "--", ...present], options).catch(() => undefined);
    await remove();
  }
}
