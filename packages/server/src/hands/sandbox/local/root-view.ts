import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import type { HostView } from "./base-files.ts";

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
  /** Where whoever binds it sees it. */
  readonly shown: string;
  /** The folder of the files that all sandboxes have, as whoever binds it sees it. */
  readonly etc: string;
}

/**
 * A folder's root file system, entry by entry, so that there is a place for whatever else a sandbox is
 * shown. Throws `SandboxUnavailableError` for one that sandboxes could not use.
 */
export function rootView({ path, shown, etc }: ShownRoot): HostView {
  if (!isFile(join(path, "etc", RESOLVER))) {
    throw new SandboxUnavailableError(
      `the root file system ${path} has no file etc/${RESOLVER}; take it in by \`drover base import\``,
    );
  }
  const own = [...OWN_FILES, RESOLVER].filter((name) => isFile(join(path, "etc", name)));
  const entries = readdirSync(path)
    .filter((name) => !NOT_SHOWN.has(name))
    .map((name) => entry(path, shown, name));
  return {
    links: entries.flatMap(({ links = [] }) => links),
    folders: entries.flatMap(({ folders = [] }) => folders),
    binds: [
      ...entries.flatMap(({ binds = [] }) => binds),
      ...own.map((name) => ({ source: `${etc}/${name}`, target: `/etc/${name}` })),
      ...(isFile(AUTHORITIES) && isFile(join(path, AUTHORITIES))
        ? [{ source: AUTHORITIES, target: AUTHORITIES }]
        : []),
    ],
  };
}

function entry(path: string, shown: string, name: string): Partial<HostView> {
  const stat = lstatSync(join(path, name));
  if (stat.isSymbolicLink()) {
    return { links: [{ path: `/${name}`, target: readlinkSync(join(path, name)) }] };
  }
  const bind = (inner: string) => ({ source: `${shown}/${inner}`, target: `/${inner}` });
  // Packages are shown below it, for which there must be places.
  if (name === "opt" && stat.isDirectory()) {
    const inside = readdirSync(join(path, name)).filter((child) => child !== "packages");
    return { folders: ["/opt"], binds: inside.map((child) => bind(`opt/${child}`)) };
  }
  return { binds: [bind(name)] };
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
