import { createHash } from "node:crypto";

const BLOCK = 512;
const FOLDER = "5";
const LINK = "2";

/** Where something is bound or mounted; an engine makes what is missing, but not beside what is read-only. */
const PLACES = [
  ...["dev", "etc", "mnt", "mnt/session", "mnt/session/.spill", "mnt/session/outputs"],
  ...["mnt/session/uploads", "opt", "proc", "run", "sys", "tmp", "usr"],
  ...["var", "var/tmp"],
  "workspace",
];

/** A file system in memory has the permissions of the folder that it is mounted on. */
const WRITABLE = new Set(["run", "tmp", "var/tmp"]);

export interface RootImage {
  /** To be given to the engine under this name. Another content has another. */
  readonly name: string;
  readonly tar: Uint8Array;
}

/**
 * The image of a sandbox that is shown its programs: folders to bind them on, and the links that are beside
 * them. No registry is asked for it.
 */
export function emptyRoot(
  links: readonly { readonly path: string; readonly target: string }[],
  folders: readonly string[],
): RootImage {
  const names = [...new Set([...PLACES, ...folders.map((path) => path.replace(/^\//, ""))])].sort();
  const tar = Buffer.concat([
    ...names.map((name) =>
      entry({ name: `${name}/`, type: FOLDER, mode: WRITABLE.has(name) ? 0o1777 : 0o755 }),
    ),
    ...links.map(({ path, target }) =>
      entry({ name: path.replace(/^\//, ""), type: LINK, mode: 0o777, target }),
    ),
    Buffer.alloc(2 * BLOCK),
  ]);
  const digest = createHash("sha256").update(tar).digest("hex").slice(0, 16);
  return { name: `drover-empty:${digest}`, tar };
}

interface Entry {
  readonly name: string;
  readonly type: string;
  readonly mode: number;
  /** Of a link. */
  readonly target?: string;
}

/** A header of the ustar format; there is never any content. */
function entry({ name, type, mode, target = "" }: Entry): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 100, "latin1");
  header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100, "latin1");
  for (const at of [108, 116]) header.write("0000000\0", at, "latin1");
  for (const at of [124, 136]) header.write("00000000000\0", at, "latin1");
  header.write("        ", 148, "latin1");
  header.write(type, 156, "latin1");
  header.write(target, 157, 100, "latin1");
  header.write("ustar\0", 257, "latin1");
  header.write("00", 263, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}
