import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isNewEnough } from "./node.js";
import { ROOT } from "./paths.js";
import { run } from "./run.js";
import { giveUp, say } from "./say.js";

/** Written after a successful install; `npm ci` deletes it with the folder when it starts over. */
const STAMP = join(ROOT, "node_modules", ".drover-install");

/**
 * The packages whose install scripts are run. No other is: the native one ships its binaries, but older
 * npm would try to compile it all the same, which needs Python and a compiler.
 */
const WITH_SCRIPTS = isNewEnough(process.version) ? ["esbuild"] : ["esbuild", "node"];

/** Installs exactly what the lock file says, unless that is what is there already. */
export async function installPackages() {
  if (isInstalled()) return;
  say("Installing packages (npm ci) …");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const steps = [
    ["ci", "--ignore-scripts", ...quiet],
    ["rebuild", "--ignore-scripts=false", ...quiet, ...WITH_SCRIPTS],
  ];
  for (const step of steps) {
    if ((await run("npm", step)) === 0) continue;
    giveUp(
      `The packages could not be installed: \`npm ${step[0]}\` failed, see above; check the network and run this command again.`,
    );
  }
  writeFileSync(STAMP, lockDigest());
}

/** True if the packages in node_modules are those of the lock file, whoever installed them. */
export function isInstalled() {
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === lockDigest()) return true;
  const installed = packagesOf(join(ROOT, "node_modules", ".package-lock.json"));
  const wanted = packagesOf(join(ROOT, "package-lock.json"));
  if (installed === undefined || wanted === undefined) return false;
  return Object.entries(wanted).every(
    ([path, entry]) =>
      path === "" ||
      entry.link === true ||
      entry.optional === true ||
      !path.startsWith("node_modules/") ||
      installed[path]?.version === entry.version,
  );
}

function packagesOf(lockFile) {
  if (!existsSync(lockFile)) return undefined;
  return JSON.parse(readFileSync(lockFile, "utf8")).packages;
}

function lockDigest() {
  return createHash("sha256")
    .update(readFileSync(join(ROOT, "package-lock.json")))
    .digest("hex");
}
