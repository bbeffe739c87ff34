import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const TREE_MS = 10 * 60_000;

/**
 * Work on a whole tree that a sandbox wrote or is to write. None follows a symbolic link, and no process
 * that can write the tree may be there. By programs, which go down by descriptors: no path is too long.
 */
const options = { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, cwd: "/", timeout: TREE_MS };

/** Everything belongs to the user from now on. Only root can. */
export async function giveTree(folder: string, uid: number): Promise<void> {
  await run("chown", ["-hR", "--", `${uid}:${uid}`, folder], options);
}

/** Readable for every sandbox's user, writable for nobody else's, and no program changes its user. */
export async function openTree(folder: string): Promise<void> {
  await run("chmod", ["-R", "u-s,g-s,go-w", "--", folder], options);
  const find = (...tests: string[]) => run("find", [folder, ...tests], options);
  await find("-type", "d", "-exec", "chmod", "u+rwx,go+rx", "--", "{}", "+");
  // Passwords are nobody's to read, though there are none.
  const names = ["-type", "f", "!", "-name", "*shadow*"];
  await find(...names, "-exec", "chmod", "a+rX", "--", "{}", "+");
}

/** A copy, owned by this process's user where that is not root. */
export async function copyTree(from: string, to: string): Promise<void> {
  const keep = process.getuid?.() === 0 ? "-a" : "-dR";
  await run(
    "cp",
    [keep, "--preserve=mode,timestamps,links", "--reflink=auto", "--", from, to],
    options,
  );
}

/** On disk when this resolves. */
export async function syncTree(folder: string): Promise<void> {
  await run("sync", ["-f", "--", folder], options);
}

/** Bytes on disk; a file with two names counts once. */
export async function treeBytes(folder: string): Promise<number> {
  const { stdout } = await run("du", ["-sk", "--one-file-system", "--", folder], options);
  return Number.parseInt(stdout, 10) * 1024;
}
