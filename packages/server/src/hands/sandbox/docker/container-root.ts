import { lstatSync } from "node:fs";
import { basename, join } from "node:path";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { type HostView, hostView } from "../local/base-files.ts";
import { rootView } from "../local/root-view.ts";
import { emptyRoot, type RootImage } from "./empty-root.ts";

/** What a container's root is made of: an image without any content, and what is bound on it, read-only. */
export interface ContainerRoot {
  readonly image: RootImage;
  readonly binds: HostView["binds"];
}

/** What an engine puts its own of into every container, wherever there is no place for it. */
const NAMES = ["hosts", "hostname", "resolv.conf"].map((name) => `/etc/${name}`);

/**
 * With the programs of the host, or of the root file system in a folder. Throws `SandboxUnavailableError` for
 * one of which no container can be made.
 */
export function containerRoot(etcFolder: string, rootFolder: string | undefined): ContainerRoot {
  const view = rootFolder === undefined ? hostView(etcFolder) : folderView(etcFolder, rootFolder);
  const atTop = view.binds.filter(({ source, target }) => isTop(target) && isFolder(source));
  const named = NAMES.filter((path) => view.binds.every(({ target }) => target !== path));
  return {
    image: emptyRoot(view.links, [...view.folders, ...atTop.map(({ target }) => target)]),
    binds: [
      ...view.binds,
      ...named.map((target) => ({ source: join(etcFolder, basename(target)), target })),
    ],
  };
}

function folderView(etc: string, root: string): HostView {
  const view = rootView({ path: root, shown: root, etc });
  const missing = NAMES.find((path) => view.binds.every(({ target }) => target !== path));
  if (missing === undefined) return view;
  throw new SandboxUnavailableError(
    `the root file system ${root} has no file ${missing}, which containers need; take it in by \`drover base import\``,
  );
}

function isTop(path: string): boolean {
  return path.lastIndexOf("/") === 0;
}

function isFolder(path: string): boolean {
  return lstatSync(path).isDirectory();
}
