import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type HostView, hostView } from "../local/base-files.ts";
import { emptyRoot, type RootImage } from "./empty-root.ts";

/** What a container's root is made of: an image without any content, and what is bound on it, read-only. */
export interface ContainerRoot {
  readonly image: RootImage;
  readonly binds: HostView["binds"];
}

/** Of a root file system that are of no use in a container, or the container's own. */
const LEFT_OUT = new Set(["boot", "dev", "home", "lost+found", "media", "mnt", "proc", "root"]);
const OWN = new Set(["run", "srv", "sys", "tmp", "var", "workspace"]);
/** What of the sandboxes' own `/etc` is shown on that of a root. */
const ETC_FILES = ["hosts", "hostname", "nsswitch.conf", "resolv.conf"];

/** With the programs of the host, or of a root file system in a folder. */
export function containerRoot(etcFolder: string, rootFolder: string | undefined): ContainerRoot {
  const view = rootFolder === undefined ? hostView(etcFolder) : folderView(rootFolder);
  const etc = ETC_FILES.map((name) => ({ source: join(etcFolder, name), target: `/etc/${name}` }));
  const atTop = view.binds.filter(({ target }) => target.lastIndexOf("/") === 0);
  return {
    image: emptyRoot(
      view.links,
      atTop.map(({ target }) => target),
    ),
    binds: [...view.binds, ...etc],
  };
}

function folderView(root: string): HostView {
  const found = readdirSync(root).filter((name) => !LEFT_OUT.has(name) && !OWN.has(name));
  const entries = found.map((name) => ({ name, stat: lstatSync(join(root, name)) }));
  return {
    binds: entries
      .filter(({ stat }) => stat.isDirectory())
      .map(({ name }) => ({ source: join(root, name), target: `/${name}` })),
    links: entries
      .filter(({ stat }) => stat.isSymbolicLink())
      .map(({ name }) => ({
        path: `/${name}`,
        target: readlinkSync(join(root, name)).replace(/^\//, ""),
      })),
  };
}
