import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CACHE } from "./paths.js";
import { attempt } from "./run.js";
import { say } from "./say.js";

/**
 * bubblewrap, which runs the sandboxes, is the one thing that npm cannot bring. Finds it, or installs
 * it as root, or unpacks Debian's package into the cache folder without root. In the last case sets
 * `DROVER_BWRAP` for what is started from here.
 *
 * @returns {{ path: string } | { missing: string, fix: string }}
 */
export function provideBubblewrap() {
  const found = findBubblewrap();
  if (found !== undefined) return { path: found };
  if (process.platform !== "linux") {
    return {
      missing: "bubblewrap, which runs the sandboxes, exists for Linux only",
      fix: "use a Linux machine, a virtual one or a container",
    };
  }
  const fix =
    "as root, run: apt-get update && apt-get install -y --no-install-recommends bubblewrap";
  if (!attempt("apt-get", ["--version"]).ok) {
    return {
      missing: "bubblewrap is not installed and there is no apt-get to install it",
      fix: "install the package `bubblewrap` of your distribution",
    };
  }
  const path = process.getuid?.() === 0 ? installAsRoot() : unpackWithoutRoot();
  return path === undefined ? { missing: "bubblewrap could not be installed", fix } : { path };
}

function findBubblewrap() {
  const set = process.env.DROVER_BWRAP;
  if (set && works(set)) return set;
  if (works("bwrap")) return "bwrap";
  const cached = [UNPACKED, LAUNCHER].find((path) => existsSync(path) && works(path));
  return cached && use(cached);
}

const TOOLS = join(CACHE, "bubblewrap");
const UNPACKED = join(TOOLS, "root", "usr", "bin", "bwrap");
/** Gives the unpacked program the unpacked libraries, where the machine lacks them. */
const LAUNCHER = join(TOOLS, "bwrap");

function works(path) {
  return attempt(path, ["--version"]).ok;
}

function use(path) {
  process.env.DROVER_BWRAP = path;
  return path;
}

function installAsRoot() {
  say("Installing bubblewrap (apt-get) …");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const quietly = { env, timeoutMs: 300_000 };
  const update = attempt("apt-get", ["update"], quietly);
  const install = attempt(
    "apt-get",
    ["install", "-y", "--no-install-recommends", "bubblewrap"],
    quietly,
  );
  if (!install.ok) say([update.ok ? "" : update.output, install.output].join("\n").trim());
  return works("bwrap") ? "bwrap" : undefined;
}

/** Works on a machine without root, and where even the package lists are not there yet. */
function unpackWithoutRoot() {
  say(`Fetching bubblewrap into ${TOOLS} (apt-get download) …`);
  mkdirSync(join(TOOLS, "lists", "partial"), { recursive: true });
  mkdirSync(join(TOOLS, "archives", "partial"), { recursive: true });
  const quietly = { cwd: TOOLS, timeoutMs: 300_000 };
  let download = attempt("apt-get", ["download", ...PACKAGES], quietly);
  if (!download.ok) {
    const own = [
      `-oDir::State::Lists=${join(TOOLS, "lists")}`,
      `-oDir::Cache=${TOOLS}`,
      "-oDebug::NoLocking=1",
    ];
    attempt("apt-get", [...own, "update"], quietly);
    download = attempt("apt-get", [...own, "download", ...PACKAGES], quietly);
  }
  if (!download.ok) {
    say(download.output);
    return undefined;
  }
  return unpack(quietly);
}

/** bubblewrap itself and the one library of it that a small machine may lack. */
const PACKAGES = ["bubblewrap", "libcap2"];

function unpack(quietly) {
  const root = join(TOOLS, "root");
  for (const file of readdirSync(TOOLS).filter((name) => name.endsWith(".deb"))) {
    attempt("dpkg", ["-x", file, root], quietly);
    rmSync(join(TOOLS, file));
  }
  for (const name of ["lists", "archives"]) rmSync(join(TOOLS, name), { recursive: true });
  if (works(UNPACKED)) return use(UNPACKED);
  const libraries = libraryFolders(root).join(":");
  const command = `LD_LIBRARY_PATH=${quoted(libraries)} exec ${quoted(UNPACKED)} "$@"`;
  writeFileSync(LAUNCHER, `#!/bin/sh\n${command}\n`);
  chmodSync(LAUNCHER, 0o755);
  return works(LAUNCHER) ? use(LAUNCHER) : undefined;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function libraryFolders(root) {
  const parents = [join(root, "lib"), join(root, "usr", "lib")].filter((path) => existsSync(path));
  return parents.flatMap((parent) => readdirSync(parent).map((name) => join(parent, name)));
}
