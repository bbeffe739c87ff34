import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Files of the sandboxes' own `/etc`. No name of the host's users, none of its resolvers, no secret. */
const FILES: Readonly<Record<string, string>> = {
  passwd: [
    "root:x:0:0:root:/root:/usr/sbin/nologin",
    "sandbox:x:1000:1000:sandbox:/workspace:/bin/bash",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
    "",
  ].join("\n"),
  group: "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost\n",
  hostname: "sandbox\n",
  // Served by the sandbox's way out; without one nobody is there, and it is known at once.
  "resolv.conf": "nameserver 127.0.0.53\noptions timeout:3 attempts:2\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  shells: "/bin/sh\n/bin/bash\n",
};

/** What of the host's `/etc` installed programs need. Nothing that configures the host or its users. */
const HOST_FOLDERS = [
  "alternatives",
  "ca-certificates",
  "fonts",
  "ImageMagick-6",
  "java-11-openjdk",
  "java-17-openjdk",
  "java-21-openjdk",
  "ld.so.conf.d",
  "perl",
  "python3",
  "ssl/certs",
  "terminfo",
] as const;
const HOST_FILES = [
  "ca-certificates.conf",
  "debian_version",
  "ld.so.cache",
  "ld.so.conf",
  "lsb-release",
  "magic",
  "mime.types",
  "protocols",
  "services",
  "ssl/openssl.cnf",
] as const;

/** Links into `/usr` on most hosts. */
const ROOT_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] as const;

/** Folders of the host's making that are the same for all sandboxes. */
export interface BaseFolders {
  readonly etc: string;
  readonly agent: string;
}

/**
 * Makes the folder that is shown as `/etc`, with empty places for what is bound over it, and a copy of
 * the agent, all readable whatever the umask and the permissions of the installation.
 */
export function writeBase(folder: string, agentScript: string): BaseFolders {
  const etc = join(folder, "etc");
  const agent = join(folder, "agent");
  // The last is a place for what the programs of one sandbox trust.
  for (const path of [folder, etc, agent, join(agent, "trust")]) makeFolder(path);
  for (const [name, content] of Object.entries(FILES)) writeFile(join(etc, name), content);
  for (const name of existing(HOST_FOLDERS)) makePlace(etc, name);
  for (const name of existing(HOST_FILES)) {
    makePlace(etc, dirname(name));
    writeFile(join(etc, name), "");
  }
  const release = join(etc, "os-release");
  if (!lstatSync(release, { throwIfNoEntry: false })) symlinkSync("../usr/lib/os-release", release);
  const script = join(agent, "agent.pl");
  copyFileSync(agentScript, `${script}.tmp`);
  chmodSync(`${script}.tmp`, 0o444);
  renameSync(`${script}.tmp`, script);
  return { etc, agent };
}

function makePlace(etc: string, name: string): void {
  const segments = name.split("/");
  for (const depth of segments.keys()) makeFolder(join(etc, ...segments.slice(0, depth + 1)));
}

function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}

function writeFile(path: string, content: string): void {
  writeFileSync(path, content);
  chmodSync(path, 0o644);
}

/** Whose programs a sandbox has, the host's or those of a root file system, all of it read-only. */
export interface HostView {
  /** In the order in which they must be bound. */
  readonly binds: readonly { readonly source: string; readonly target: string }[];
  /** Symbolic links, from where to what. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** To be there for what is bound below them. */
  readonly folders: readonly string[];
}

/** The host's programs, and the `/etc` made by `writeBase` with what programs need of the host's. */
export function hostView(etcFolder: string): HostView {
  const shown = (path: string) => ({ source: path, target: path });
  const roots = ROOT_FOLDERS.flatMap((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ path, isLink: stat.isSymbolicLink() }];
  });
  const etc = [...existing(HOST_FOLDERS), ...existing(HOST_FILES)];
  return {
    binds: [
      shown("/usr"),
      ...roots.filter(({ isLink }) => !isLink).map(({ path }) => shown(path)),
      { source: etcFolder, target: "/etc" },
      ...etc.map((name) => shown(`/etc/${name}`)),
    ],
    links: roots
      .filter(({ isLink }) => isLink)
      .map(({ path }) => ({ path, target: readlinkSync(path).replace(/^\//, "") })),
    folders: [],
  };
}

function existing(names: readonly string[]): string[] {
  return names.filter((name) => lstatSync(`/etc/${name}`, { throwIfNoEntry: false }));
}
