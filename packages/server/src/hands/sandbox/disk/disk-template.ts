import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const MAKE_MS = 60_000;
const MB = 1024 * 1024;
/** The smallest journal that ext4 takes with blocks of 4 KiB. */
const JOURNAL_MB_MIN = 4;
const JOURNAL_MB_MAX = 32;
const JOURNAL_SHARE = 64;
const PROGRAMS = ["/usr/sbin/mke2fs", "/sbin/mke2fs"];

/**
 * Makes an empty file system of so many bytes in a sparse file, of which some 200 KB are written: each
 * hand's is a copy of it, so that only one is made by a program. Replaces what is there, by a whole one on
 * disk. Rejects where the program is missing or fails.
 */
export async function makeTemplate(file: string, bytes: number): Promise<void> {
  const program = PROGRAMS.find((path) => existsSync(path));
  if (program === undefined) {
    throw new Error("mke2fs is not installed: run `apt-get install e2fsprogs`");
  }
  const draft = `${file}.new`;
  const journal = Math.max(JOURNAL_MB_MIN, Math.min(JOURNAL_MB_MAX, bytes / MB / JOURNAL_SHARE));
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await rm(draft, { force: true });
  await using handle = await open(draft, "wx", 0o600);
  await handle.truncate(bytes);
  await run(
    program,
    [
      ...["-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-J", `size=${Math.floor(journal)}`],
      // What is not written is zero already, for the file is sparse. It never grows, so it needs no room for that.
      ...["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", "-O", "^resize_inode"],
      draft,
    ],
    { env: {}, cwd: "/", timeout: MAKE_MS },
  );
  await handle.sync();
  await rename(draft, file);
}
