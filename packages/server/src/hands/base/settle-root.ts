import { lstatSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../../lib/operator-error.ts";
import { giveTree, openTree } from "../sandbox/local/own-tree.ts";

/** Places that a sandbox is shown something of its own at. */
const PLACES = ["dev", "proc", "run", "tmp", "var/tmp", "opt", "etc/dpkg/dpkg.cfg.d", "usr/sbin"];
const TEXT_NOT_KEPT = ["doc", "info", "locale", "man"];

/** Files of every root file system, whatever it came with. */
const FILES: Readonly<Record<string, string>> = {
  "etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
  "etc/hostname": "sandbox\n",
  "etc/resolv.conf": "nameserver 127.0.0.53\noptions timeout:3 attempts:2\n",
  // There is no init to start a package's services by, and nobody to use them while it is installed.
  "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
  "etc/dpkg/dpkg.cfg.d/drover": TEXT_NOT_KEPT.map(
    (name) => `path-exclude=/usr/share/${name}/*\n`,
  ).join(""),
};
const NEEDED = ["usr/bin/bash", "usr/bin/perl"];

/**
 * Makes an unpacked root file system one for sandboxes: with the files that they all have, no password of
 * anybody's, and nothing that changes its user. Rejects with `OperatorError` where it can be none.
 */
export async function settleRoot(root: string): Promise<void> {
  for (const program of NEEDED) {
    if (lstatSync(join(root, program), { throwIfNoEntry: false })) continue;
    throw new OperatorError(`the root file system has no /${program}, which every sandbox needs`);
  }
  for (const place of PLACES) await makePlace(root, place);
  for (const [name, content] of Object.entries(FILES)) {
    await put(root, name, content, name.startsWith("usr/sbin/") ? 0o755 : 0o644);
  }
  if (isFile(join(root, "etc/passwd"))) await lockPasswords(root);
  for (const name of TEXT_NOT_KEPT) {
    await rm(join(root, "usr/share", name), { recursive: true, force: true });
  }
  if (process.getuid?.() === 0) await giveTree(root, 0);
  await openTree(root);
}

/** What was taken in from a machine that people use may have theirs. */
async function lockPasswords(root: string): Promise<void> {
  const users = readFileSync(join(root, "etc/passwd"), "utf8")
    .split("\n")
    .flatMap((line) => /^[a-z_][\w-]*(?=:)/.exec(line)?.[0] ?? []);
  const locked = users.map((user) => `${user}:*:19000:0:99999:7:::\n`).join("");
  await put(root, "etc/shadow", locked, 0o600);
  for (const name of ["etc/gshadow", "etc/shadow-", "etc/gshadow-"]) {
    await rm(join(root, name), { force: true });
  }
}

async function put(root: string, name: string, content: string, mode: number): Promise<void> {
  const path = join(root, name);
  await rm(path, { force: true });
  await writeFile(path, content, { mode, flag: "wx" });
}

/** Whoever made the tree may have put links anywhere: the host is not to write where one leads. */
async function makePlace(root: string, place: string): Promise<void> {
  let path = root;
  for (const segment of place.split("/")) {
    path = join(path, segment);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) await mkdir(path);
    else if (!stat.isDirectory()) {
      throw new OperatorError(`/${place} of the root file system is no folder`);
    }
  }
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
