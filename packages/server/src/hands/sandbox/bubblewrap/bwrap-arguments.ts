import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Outfit } from "../../../core/ports/sandbox.ts";
import { TRUST_BUNDLE, TRUST_FOLDER } from "../../egress/trust/trust-files.ts";
import { SKILLS_FOLDER } from "../../skills/skill-tree.ts";
import { hostView } from "../local/base-files.ts";
import { AUTHORITIES, rootView } from "../local/root-view.ts";
import type { MountTrees } from "../local/sandbox-launcher.ts";
import {
  AGENT_FOLDER,
  ENVIRONMENT,
  memoryFileSystems,
  PACKAGES_FOLDER,
  SANDBOX_HOSTNAME,
  WORKSHOP_AUTHORITIES,
} from "../local/sandbox-layout.ts";
import { UPLOADS_FOLDER } from "../local/upload-tree.ts";
import { viewArguments } from "./view-arguments.ts";

/** Over the files of its own user, which is all there is: to own, link and set what Debian's packages do. */
const CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETFCAP"];

/** Host paths of what a sandbox is shown, as the launching process sees them. */
export interface ShownFolders extends MountTrees {
  readonly workspace: string;
  readonly outputs: string;
  readonly spill: string;
  readonly etc: string;
  readonly agent: string;
  /** A root file system instead of the host's programs. */
  readonly root?: string;
  /** By name; see `Outfit`. */
  readonly layers?: Readonly<Record<string, string>>;
}

interface InsideOptions {
  readonly hasExit: boolean;
  /** The limit that what is kept in memory counts to: a full `/tmp` is to be an error, not an end. */
  readonly memoryBytes?: number | undefined;
  readonly outfit?: Outfit | undefined;
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * bubblewrap's arguments (NUL separated, for `--args`): own namespaces of every kind, a network with
 * only `lo` in it, no capability, nothing of the host but its programs, read-only. With a way out the
 * network is the one that the launcher made. A sandbox that installs a root file system has capabilities
 * over what its one user owns; see `outfitArguments`.
 */
export function bwrapArguments(
  folders: ShownFolders,
  { hasExit, memoryBytes, outfit, variables }: InsideOptions,
): Buffer {
  const isRoot = outfit?.workshop?.type === "root";
  const options = [
    ...["--unshare-all", ...(hasExit ? ["--share-net"] : [])],
    ...["--unshare-user", "--disable-userns"],
    ...identity(isRoot),
    ...["--hostname", SANDBOX_HOSTNAME],
    ...["--die-with-parent", "--new-session", "--seccomp", "3", "--json-status-fd", "5"],
    "--clearenv",
    ...Object.entries({ ...variables, ...ENVIRONMENT, ...outfit?.variables }).flatMap(
      ([name, value]) => [...["--setenv", name, value]],
    ),
    ...programs(folders, outfit),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...memoryFileSystems(memoryBytes).flatMap(({ path, bytes }) => tmpfs(path, bytes)),
    ...["--ro-bind", folders.agent, AGENT_FOLDER],
    ...["--bind", folders.workspace, "/workspace"],
    ...["--bind", folders.outputs, "/mnt/session/outputs"],
    ...["--bind", folders.spill, "/mnt/session/.spill"],
    ...["--ro-bind", folders.uploads, UPLOADS_FOLDER],
    ...(folders.skills === undefined ? [] : ["--ro-bind", folders.skills, SKILLS_FOLDER]),
    ...(folders.memory ?? []).flatMap(({ mount_path, folder, isWritable }) => [
      ...[isWritable ? "--bind" : "--ro-bind", folder, mount_path],
    ]),
    ...trustArguments(folders, outfit),
    ...layerArguments(folders, outfit),
    // Both are in memory, and writable unless said otherwise.
    ...["--remount-ro", "/dev", ...(isRoot ? [] : ["--remount-ro", "/"])],
    ...["--chdir", "/workspace"],
  ];
  return Buffer.from(`${options.join("\0")}\0`);
}

/** Whoever installs a root file system is root there, of one kernel uid as everybody. */
function identity(isRoot: boolean): string[] {
  if (!isRoot) return ["--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"];
  return ["--uid", "0", "--gid", "0", ...CAPABILITIES.flatMap((name) => ["--cap-add", name])];
}

function programs(folders: ShownFolders, outfit: Outfit | undefined): string[] {
  const { etc, root } = folders;
  if (outfit?.root === undefined || root === undefined) return viewArguments(hostView(etc));
  if (outfit.workshop?.type === "root") return ["--bind", root, "/"];
  return viewArguments(rootView({ path: outfit.root, shown: root, etc }));
}

/** Also in the place where programs look that are told nothing, if there is one. */
function trustArguments({ trust }: ShownFolders, outfit: Outfit | undefined): string[] {
  if (trust === undefined) return [];
  const hasPlace = existsSync(join(outfit?.root ?? "/", AUTHORITIES));
  return [
    ...["--ro-bind", trust, TRUST_FOLDER],
    ...(hasPlace ? ["--ro-bind", `${trust}/${TRUST_BUNDLE}`, AUTHORITIES] : []),
  ];
}

function layerArguments({ layers = {} }: ShownFolders, outfit: Outfit | undefined): string[] {
  const { workshop } = outfit ?? {};
  const shown = Object.entries(layers).flatMap(([name, path]) => {
    const isOpen = workshop?.type === "layer" && workshop.name === name;
    return [isOpen ? "--bind" : "--ro-bind", path, `${PACKAGES_FOLDER}/${name}`];
  });
  if (workshop === undefined || !existsSync(AUTHORITIES)) return shown;
  return [...shown, "--ro-bind", AUTHORITIES, WORKSHOP_AUTHORITIES];
}

function tmpfs(path: string, bytes: number): string[] {
  return ["--perms", "1777", "--size", String(bytes), "--tmpfs", path];
}
