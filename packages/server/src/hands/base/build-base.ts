import { type ChildProcess, spawn } from "node:child_process";
import { lstatSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { OperatorError } from "../../lib/operator-error.ts";
import { copyTree } from "../sandbox/local/own-tree.ts";
import type { Base, BaseStore } from "./base-store.ts";
import { settleRoot } from "./settle-root.ts";
import { treeDigest } from "./tree-digest.ts";

/** Debian packages of the bases that are built by name, beside those that are essential. */
export const BASE_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  small: ["ca-certificates"],
  full: [
    ...["build-essential", "bzip2", "ca-certificates", "cargo", "curl", "file", "git", "golang-go"],
    ...[
      "jq",
      "less",
      "nodejs",
      "npm",
      "openssh-client",
      "patch",
      "pkg-config",
      "procps",
      "python3",
    ],
    ...["python3-pip", "python3-venv", "ripgrep", "rsync", "ruby", "sqlite3", "tree", "unzip"],
    ...["wget", "xz-utils", "zip"],
  ],
};
export const DEFAULT_SUITE = "trixie";
export const DEFAULT_MIRROR = "http://deb.debian.org/debian";

const ERROR_LINES = 12;
const NO_MMDEBSTRAP =
  "mmdebstrap, which builds a root file system from Debian packages, is not installed: run `apt-get install mmdebstrap`";

export interface BuildOptions {
  readonly store: BaseStore;
  readonly name: string;
  readonly packages: readonly string[];
  /** Of Debian, such as `trixie`. */
  readonly suite: string;
  readonly mirror: string;
  /** Hears what is being done, a line at a time. */
  readonly onProgress: (line: string) => void;
}

/** Builds a root file system from Debian packages. Rejects with `OperatorError`, and leaves nothing. */
export async function buildBase(options: BuildOptions): Promise<Base> {
  const { store, name, onProgress } = options;
  return await store.make(name, async (root) => {
    await mkdir(root);
    const tar = extractor(root);
    const debstrap = spawn("mmdebstrap", debstrapArguments(options), {
      stdio: ["ignore", "pipe", "pipe"],
    });
    debstrap.stdout.pipe(tar.stdin);
    // That the extraction has ended is known by its own status.
    tar.stdin.on("error", () => debstrap.kill());
    const results = await Promise.all([
      ended(debstrap, "mmdebstrap", (line) => progressOf(line, onProgress)),
      ended(tar, "tar", () => undefined),
    ]);
    const failure = results.find((result) => result !== undefined);
    if (failure !== undefined) throw failure;
    return await finish(root, onProgress);
  });
}

export interface ImportOptions {
  readonly store: BaseStore;
  readonly name: string;
  /** Of a folder, or of a tar archive such as `docker export` writes. Absolute. */
  readonly path: string;
  readonly onProgress: (line: string) => void;
}

/** Takes a copy of a root file system. Rejects with `OperatorError`, and leaves nothing. */
export async function importBase({ store, name, path, onProgress }: ImportOptions): Promise<Base> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new OperatorError(`there is no ${path}`);
  return await store.make(name, async (root) => {
    onProgress(`copying ${path}`);
    if (stat.isDirectory()) await copyTree(path, root);
    else {
      await mkdir(root);
      const failure = await ended(extractor(root, path), "tar", () => undefined);
      if (failure !== undefined) throw failure;
    }
    return await finish(root, onProgress);
  });
}

async function finish(root: string, onProgress: (line: string) => void): Promise<string> {
  // What sandboxes have instead.
  await rm(join(root, "dev"), { recursive: true, force: true });
  onProgress("settling");
  await settleRoot(root);
  onProgress("hashing");
  return await treeDigest(root);
}

function debstrapArguments({ packages, suite, mirror }: BuildOptions): string[] {
  return [
    ...["--variant=apt", "--format=tar", `--include=${packages.join(",")}`],
    ...['--aptopt=APT::Install-Recommends "false"', "--dpkgopt=force-unsafe-io"],
    ...[suite, "-", mirror],
  ];
}

/** Owned by this process's user, whoever the archive says. It writes nothing outside of the folder. */
function extractor(root: string, archive = "-") {
  const filter = ["--exclude=./dev/*", "--exclude=dev/*", "--no-same-owner", "-xf", archive];
  return spawn("tar", ["-C", root, ...filter], { stdio: ["pipe", "ignore", "pipe"] });
}

function progressOf(line: string, onProgress: (line: string) => void): void {
  const said = /^I: (?!automatically|chroot|using)(.+)$/.exec(line)?.[1];
  if (said !== undefined) onProgress(said.slice(0, 200));
}

/** Undefined if it ended well. */
function ended(
  child: ChildProcess,
  name: string,
  onLine: (line: string) => void,
): Promise<OperatorError | undefined> {
  const lines: string[] = [];
  if (child.stderr) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      if (lines.length > ERROR_LINES) lines.shift();
      onLine(line);
    });
  }
  return new Promise((resolve) => {
    child.on("error", (cause) => {
      const message = name === "mmdebstrap" ? NO_MMDEBSTRAP : `${name} is not installed`;
      resolve(new OperatorError(message, { cause }));
    });
    child.on("close", (code, signal) => {
      if (code === 0) resolve(undefined);
      else {
        const why = signal ?? `exit status ${code}`;
        resolve(new OperatorError(`${name} failed (${why}):\n${lines.join("\n")}`));
      }
    });
  });
}
