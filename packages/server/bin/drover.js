#!/usr/bin/env node
// Must parse and run on any Node, to be able to say that it is too old.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const BUNDLE = join(HERE, "..", "dist", "drover.mjs");

if (!existsSync(BUNDLE)) {
  fail("Drover is not built yet; run `npm run build` in the repository.");
} else if (isNewEnough(process.version)) {
  await import(pathToFileURL(BUNDLE).href);
} else {
  runWith(findNewerNode(HERE));
}

function isNewEnough(version) {
  const [major, minor] = version.replace(/^v/, "").split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 12);
}

/** The npm package `node`, installed here or in any folder above. */
function findNewerNode(folder) {
  const candidate = join(folder, "node_modules", ".bin", "node");
  if (existsSync(candidate)) {
    const { stdout } = spawnSync(candidate, ["--version"], { encoding: "utf8" });
    if (stdout && isNewEnough(stdout.trim())) return candidate;
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : findNewerNode(parent);
}

function runWith(node) {
  if (node === undefined) {
    fail(
      `Drover needs Node 22.12 or newer and this is ${process.version}; install a newer Node, or run \`npm install node@24 --allow-scripts=node\` in this folder.`,
    );
    return;
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // A terminal's Ctrl-C reaches the child by itself, and a second one would mean "at once".
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.once("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGKILL" ? 137 : 1);
  });
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
