import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const PACKAGES = join(ROOT, "packages");
const DIST = join(PACKAGES, "server/dist");
/** Inside the repository, because the bundle finds `better-sqlite3` in a folder above. */
const CACHE = join(ROOT, "node_modules/.cache/drover");

/** The program under test, by the arguments of Node that run it. */
export interface Program {
  readonly args: readonly string[];
  remove(): void;
}

/**
 * A copy of the bundle, made anew if the sources have changed since: it starts in a third of the time
 * of the sources, and a build in the middle of a campaign does not pull its files from under it.
 */
export function copyProgram(): Program {
  if (!isFresh()) build();
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "faults-"));
  cpSync(DIST, folder, { recursive: true });
  cpSync(join(import.meta.dirname, "program.js"), join(folder, "program.js"));
  return {
    args: [join(folder, "program.js")],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function isFresh(): boolean {
  const bundle = join(DIST, "drover.mjs");
  if (!existsSync(bundle)) return false;
  const builtMs = statSync(bundle).mtimeMs;
  return ["api/src", "server/src"].every((folder) => newestMs(join(PACKAGES, folder)) <= builtMs);
}

function newestMs(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const times = files.map(({ parentPath, name }) => {
    return statSync(join(parentPath, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  });
  return Math.max(...times);
}

function build(): void {
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "scripts/build.js")], {
    encoding: "utf8",
    cwd: ROOT,
  });
  if (status !== 0) throw new Error(`the program could not be built:\n${stderr}`);
}
