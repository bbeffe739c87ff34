import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";

/** Of a root file system these are not shown: each sandbox has its own, or none. */
const NOT_SHOWN = new Set([
  ...["boot", "dev", "lost+found", "mnt", "proc", "run", "sys", "tmp", "workspace"],
]);
/** What all sandboxes have instead of what the root file system has, if that has it. */
const OWN_FILES = ["passwd", "group", "hosts", "hostname", "nsswitch.conf"];
/** Without its own, a sandbox would ask name servers that it cannot reach. */
const RESOLVER = "resolv.conf";
/** The authorities that the host trusts, those of its own network among them. */
export const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

export interface ShownRoot {
  /** Where this process sees it. */
  readonly path: string;
  /** Where the launching process sees it. */
  readonly shown: string;
  /** The folder of the files that all sandboxes have, as the launching process sees it. */
  readonly etc: string;
}

/**
 * Arguments for bubblewrap: a folder's root file system, read-only, entry by entry, so that there is a
 * place for whatever else a sandbox is shown.
 */
export function rootArguments({ path, shown, etc }: ShownRoot): string[] {
  if (!isFile(join(path, "etc", RESOLVER))) {
    throw new SandboxUnavailableError(
      `the root file system ${path} has no file etc/${RESOLVER}; take it in by \`drover base import\``,
    );
  }
  const own = [...OWN_FILES, RESOLVER].filter((name) => isFile(join(path, "etc", name)));
  return [
    ...readdirSync(path).flatMap((name) => (NOT_SHOWN.has(name) ? [] : entry(path, shown, name))),
    ...own.flatMap((name) => ["--ro-bind", `${etc}/${name}`, `/etc/${name}`]),
    ...(isFile(AUTHORITIES) && isFile(join(path, AUTHORITIES))
      ? ["--ro-bind", AUTHORITIES, AUTHORITIES]
      : []),
  ];
}

function entry(path: string, shown: string, name: string): string[] {
  const stat = lstatSync(join(path, name));
  if (stat.isSymbolicLink()) return ["--symlink", readlinkSync(join(path, name)), `/${name}`];
  // Packages are shown below it, for which there must be places.
  if (name === "opt" && stat.isDirectory()) {
    const inside = readdirSync(join(path, name)).filter((child) => child !== "packages");
    return [
      ...["--dir", "/opt"],
      ...inside.flatMap((child) => ["--ro-bind", `${shown}/opt/${child}`, `/opt/${child}`]),
    ];
  }
  return ["--ro-bind", `${shown}/${name}`, `/${name}`];
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
