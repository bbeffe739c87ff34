import { execFileSync, spawn } from "node:child_process";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SandboxBase } from "../../core/ports/hands.ts";
import {
  aptSource,
  openPackagesWorld,
  type PackagesWorld,
} from "../packages/packages-world.testsuite.ts";
import { type Base, BaseStore } from "./base-store.ts";
import { BASE_PACKAGES, buildBase, importBase } from "./build-base.ts";

const BUILD_MS = 600_000;
const MB = 1024 * 1024;
const BUILT: SandboxBase = { type: "built", name: "small" };
const nothing = () => undefined;

let world: PackagesWorld;
let store: BaseStore;
let base: Base;
const progress: string[] = [];

beforeAll(async () => {
  const source = aptSource();
  const { mirror } = source;
  world = await openPackagesWorld({
    registries: { apt: mirror },
    real: [new URL(mirror).hostname],
  });
  store = new BaseStore(world.folder);
  base = await buildBase({
    ...{ store, name: "small", packages: BASE_PACKAGES["small"] ?? [] },
    ...source,
    onProgress: (line) => progress.push(line),
  });
}, BUILD_MS);

afterAll(async () => world?.[Symbol.asyncDispose]());

test("a small base is built from Debian packages, tells how far it is, and is small", () => {
  expect(progress).toEqual(expect.arrayContaining(["downloading packages with apt...", "hashing"]));
  expect(base.size_bytes).toBeLessThan(200 * MB);
  expect(store.find("small")).toEqual(base);
  expect(store.list()).toEqual([base]);
});

test("its programs are those of a sandbox, which cannot change them", async () => {
  const inside = [
    "bash --version | grep -o 'GNU bash'",
    "id -un",
    "touch /usr/bin/x /etc/x /x 2>/dev/null || echo read-only",
    "ls -A /opt /mnt /home",
    "stat -c %a /tmp",
    "test -e /usr/bin/node || echo 'nothing of the host'",
    "find / -xdev -perm /6000 -type f 2>/dev/null | wc -l",
    "grep -v ':[*!]' /etc/shadow 2>/dev/null || echo 'no password'",
    "echo written > /workspace/file && cat /workspace/file",
  ];
  expect((await world.run(inside.join("; "), {}, { base: BUILT })).split("\n")).toEqual([
    ...["GNU bash", "sandbox", "read-only", "/home:", "", "/mnt:", "session", "", "/opt:", "1777"],
    ...["nothing of the host", "0", "no password", "written", ""],
  ]);
});

test(
  "packages of apt are added to it for those who have them, from the real mirror",
  async () => {
    const packages = { apt: ["jq"] };
    const command = `echo '{"a":[1,2]}' | jq -c .a; touch /usr/x 2>/dev/null || echo read-only`;
    expect(await world.run(command, packages, { base: BUILT })).toBe("[1,2]\nread-only\n");
    expect(await world.run("command -v jq || echo absent", {}, { base: BUILT })).toBe("absent\n");
    expect(world.reported).toEqual(["packages_installing apt", "packages_installed apt"]);
  },
  BUILD_MS,
);

test(
  "a package that apt does not know is named",
  async () => {
    const failing = world.run("true", { apt: ["jq", "drover-absent"] }, { base: BUILT });
    await expect(failing).rejects.toThrow(
      /apt could not install drover-absent \(exit status 100\)[\s\S]*Unable to locate package drover-absent/,
    );
  },
  BUILD_MS,
);

test("with the host's programs apt is refused, and what is to be set is said", async () => {
  await expect(world.run("true", { apt: ["jq"] })).rejects.toThrow(
    /packages\.apt \(jq\).*DROVER_SANDBOX_BASE/,
  );
});

test("one that is not there is not replaced by another", async () => {
  const missing = { type: "built", name: "absent" } as const;
  await expect(world.run("true", {}, { base: missing })).rejects.toThrow(
    "drover base build absent",
  );
  const folder = { type: "directory", path: "/absent" } as const;
  await expect(world.run("true", {}, { base: folder })).rejects.toThrow("/absent");
});

test("a folder that its operator keeps is used as it is", async () => {
  const folder = { type: "directory", path: base.root } as const;
  expect(await world.run("id -un; ls /usr | wc -l", {}, { base: folder })).toMatch(
    /^sandbox\n\d+\n$/,
  );
});

test("an archive is taken in, with no password and no program that changes its user", async () => {
  const tree = join(world.folder, "tree");
  execFileSync("cp", ["-a", base.root, tree]);
  await writeFile(join(tree, "etc/shadow"), "root:$6$salt$secret:1:0:9:7:::\n");
  execFileSync("chmod", ["u+s", join(tree, "usr/bin/env")]);
  const archive = join(world.folder, "tree.tar");
  execFileSync("tar", ["-C", tree, "-cf", archive, "."]);
  const made = await importBase({ store, name: "taken", path: archive, onProgress: nothing });
  expect(execFileSync("cat", [join(made.root, "etc/shadow")], { encoding: "utf8" })).not.toContain(
    "$6$",
  );
  expect(lstatSync(join(made.root, "usr/bin/env")).mode & 0o6000).toBe(0);
  const taken = { type: "built", name: "taken" } as const;
  expect(await world.run("env -i /usr/bin/env echo runs", {}, { base: taken })).toBe("runs\n");
});

test("an archive whose folders lead elsewhere writes nothing there, and leaves nothing", async () => {
  const [evil, outside] = ["evil", "outside"].map((name) => join(world.folder, name));
  if (evil === undefined || outside === undefined) throw new Error("no place");
  await mkdir(join(evil, "usr/bin"), { recursive: true });
  await mkdir(outside);
  for (const name of ["bash", "perl"]) await writeFile(join(evil, "usr/bin", name), "");
  await symlink(outside, join(evil, "etc"));
  await expect(
    importBase({ store, name: "evil", path: evil, onProgress: nothing }),
  ).rejects.toThrow("is no folder");
  expect(readdirSync(outside)).toEqual([]);
  expect(store.find("evil")).toBeUndefined();
});

/** A process that takes in a base and dies at a point of it. */
const DYING = (point: string) => `
const at = (path) => import(new URL(path, ${JSON.stringify(pathToFileURL(`${import.meta.dirname}/`).href)}));
const { armFailPoint } = await at("../../lib/fail-point.ts");
const { BaseStore } = await at("./base-store.ts");
const { importBase } = await at("./build-base.ts");
armFailPoint({ name: ${JSON.stringify(point)}, nth: 1 });
const [data, path] = process.argv.slice(1);
await importBase({ store: new BaseStore(data), name: "killed", path, onProgress: () => {} });
`;

test.each([
  ["base.make.before_publish", false],
  ["base.make.after_publish", true],
])("killed at %s, a base is there whole or not at all", async (point, isThere) => {
  const options = ["--conditions=drover-source", "--input-type=module", "-e", DYING(point)];
  const child = spawn(process.execPath, [...options, world.folder, base.root], {
    stdio: "inherit",
  });
  const signal = await new Promise((ended) => child.on("exit", (_, how) => ended(how)));
  expect(signal).toBe("SIGKILL");
  expect(store.find("killed") !== undefined).toBe(isThere);
  await world.another().reap();
  const folders = readdirSync(join(world.folder, "bases"), { withFileTypes: true });
  const kept = folders.filter((entry) => entry.isDirectory()).length;
  expect(kept).toBe(store.list().length);
  expect(existsSync(base.root)).toBe(true);
});

/** A process without privileges that takes in a base and adds a package of apt. */
const UNPRIVILEGED = 1500;
const WITHOUT_ROOT = `
const at = (path) => import(new URL(path, ${JSON.stringify(pathToFileURL(`${import.meta.dirname}/`).href)}));
const { openPackagesWorld } = await at("../packages/packages-world.testsuite.ts");
const { BaseStore } = await at("./base-store.ts");
const { importBase } = await at("./build-base.ts");
const [path, apt] = process.argv.slice(1);
const world = await openPackagesWorld({ registries: { apt }, real: [new URL(apt).hostname] });
const store = new BaseStore(world.folder);
await importBase({ store, name: "own", path, onProgress: () => {} });
const base = { type: "built", name: "own" };
const command = "id -un; jq -n 1+1; touch /usr/x 2>/dev/null || echo read-only";
process.stdout.write(await world.run(command, { apt: ["jq"] }, { base }));
await world[Symbol.asyncDispose]();
`;

test(
  "without privileges bases are taken in and packages of apt added all the same",
  async () => {
    const archive = join(world.folder, "root.tar");
    execFileSync("tar", ["-C", base.root, "-cf", archive, "."]);
    execFileSync("chmod", ["755", world.folder]);
    execFileSync("chmod", ["644", archive]);
    const isRoot = process.getuid?.() === 0;
    const args = ["--conditions=drover-source", "--input-type=module", "-e", WITHOUT_ROOT];
    const child = spawn(process.execPath, [...args, archive, aptSource().mirror], {
      stdio: ["ignore", "pipe", "inherit"],
      ...(isRoot && { uid: UNPRIVILEGED, gid: UNPRIVILEGED }),
    });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    await new Promise((ended) => child.on("close", ended));
    expect(Buffer.concat(chunks).toString("utf8")).toBe("sandbox\n2\nread-only\n");
  },
  BUILD_MS,
);
