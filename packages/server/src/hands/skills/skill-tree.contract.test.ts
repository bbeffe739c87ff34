import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { SkillMount } from "../../core/ports/hands.ts";
import { SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import { type ZipEntry, zipBytes } from "../../lib/archive/archive-bytes.testsuite.ts";
import { SkillCache } from "./skill-cache.ts";
import { makeSkillTree } from "./skill-tree.ts";

const SKILL: readonly ZipEntry[] = [
  { name: "my-skill/SKILL.md", content: "how to" },
  { name: "my-skill/run.sh", content: "#!/bin/sh\n", mode: 0o100755 },
  { name: "my-skill/deep/er/data", content: "data" },
];

function openWorld() {
  const folder = mkdtempSync(join(tmpdir(), "drover-skills-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const cacheFolder = join(folder, "cache");
  const cache = new SkillCache(cacheFolder);
  let hands = 0;
  const store = (workspaceId: string, entries: readonly ZipEntry[]): string => {
    const bytes = zipBytes(entries);
    const sha256 = Buffer.from(`${bytes.length}`.padStart(32, "0")).toString("hex");
    writeFileSync(join(folder, `${workspaceId}-${sha256}`), bytes);
    return sha256;
  };
  return {
    cache,
    cacheFolder,
    cached: () => readdirSync(cacheFolder),
    store,
    mount: (sha256: string, fields: Partial<SkillMount> = {}): SkillMount => ({
      type: "skill",
      mount_path: "/mnt/skills/my-skill",
      sha256,
      size_bytes: 1,
      source: "workspace",
      description: "d",
      ...fields,
    }),
    make: (mounts: readonly SkillMount[], { workspaceId = "a", hand = `hand_${++hands}` } = {}) =>
      makeSkillTree({
        folder: join(folder, hand),
        cache,
        workspaceId,
        mounts,
        blobPath: (workspace, sha256) => join(folder, `${workspace}-${sha256}`),
        installedPath: (sha256) => join(folder, `installed-${sha256}`),
      }),
  };
}

function shown(folder: string | undefined): Record<string, string> {
  if (folder === undefined) return {};
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const { mode } = lstatSync(join(folder, name));
      return [name, (mode & 0o777).toString(8)];
    }),
  );
}

test("a tree has the files as they are to be seen, and is made anew each time", async () => {
  const { make, mount, store } = openWorld();
  const skill = mount(store("a", SKILL));
  const folder = await make([skill], { hand: "h" });
  const tree = {
    "my-skill": "755",
    "my-skill/SKILL.md": "444",
    "my-skill/deep": "755",
    "my-skill/deep/er": "755",
    "my-skill/deep/er/data": "444",
    "my-skill/run.sh": "555",
  };
  expect(shown(folder)).toEqual(tree);
  rmSync(join(folder ?? "", "my-skill/deep"), { recursive: true });
  expect(shown(await make([skill], { hand: "h" }))).toEqual(tree);
  expect(await make([], { hand: "h" })).toBeUndefined();
});

test("an archive is unpacked once, also when many want it at once, and for its workspace alone", async () => {
  const { cached, make, mount, store } = openWorld();
  const sha256 = store("a", SKILL);
  store("b", SKILL);
  const trees = await Promise.all(Array.from({ length: 5 }, () => make([mount(sha256)])));
  const inodes = trees.map((tree) => lstatSync(join(tree ?? "", "my-skill/SKILL.md")).ino);
  expect(new Set(inodes).size).toBe(1);
  expect(cached()).toHaveLength(1);
  await make([mount(sha256)], { workspaceId: "b" });
  expect(cached()).toHaveLength(2);
  const foreign = make([mount(sha256)], { workspaceId: "c" });
  await expect(foreign).rejects.toThrow("the files of the skill my-skill cannot be had");
  const installed = make([mount(sha256, { source: "installed" })]);
  await expect(installed).rejects.toThrow("cannot be had");
  store("installed", SKILL);
  expect(await make([mount(sha256, { source: "installed" })])).toBeDefined();
});

test("what was not used for long makes room, and trees keep what they have", async () => {
  const { cached, make, mount, store } = openWorld();
  const trees: string[] = [];
  for (let number = 0; number < 130; number += 1) {
    const content = "x".repeat(number);
    const sha256 = store("a", [...SKILL, { name: "my-skill/n", content, isStored: true }]);
    trees.push((await make([mount(sha256)])) ?? "");
  }
  expect(cached()).toHaveLength(128);
  for (const [number, tree] of trees.entries()) {
    expect(readFileSync(join(tree, "my-skill/n"), "utf8")).toHaveLength(number);
  }
});

test("nothing of an earlier life is believed, and nothing of this one is lost", async () => {
  const { cache, cacheFolder, cached, make, mount, store } = openWorld();
  mkdirSync(join(cacheFolder, "half.tmp"), { recursive: true });
  mkdirSync(join(cacheFolder, "whole"));
  await cache.clear();
  expect(existsSync(cacheFolder)).toBe(false);
  const skill = mount(store("a", SKILL));
  await make([skill]);
  await cache.clear();
  expect(cached()).toHaveLength(1);
  expect(shown(await make([skill]))).toHaveProperty("my-skill/SKILL.md");
});

const LINK = 0o120777;
test.each<[string, readonly ZipEntry[], string]>([
  ["a symbolic link", [...SKILL, { name: "my-skill/l", content: "/etc", mode: LINK }], "links"],
  ["a device", [...SKILL, { name: "my-skill/d", mode: 0o020666 }], "links, devices"],
  ["a way out", [...SKILL, { name: "my-skill/../../out", content: "x" }], "must not hold . or .."],
  ["an absolute path", [...SKILL, { name: "/etc/cron.d/x", content: "x" }], "absolute"],
  ["a second folder", [...SKILL, { name: "other/x", content: "x" }], "must be in one folder"],
  ["another name", [{ name: "your-skill/SKILL.md", content: "x" }], "has the folder your-skill"],
  ["no document", [{ name: "my-skill/README.md", content: "x" }], "SKILL.md"],
  ["a name twice", [...SKILL, { name: "my-skill/RUN.sh", content: "x" }], "same name"],
  ["a bomb", [...SKILL, { name: "my-skill/b", content: Buffer.alloc(4 << 20) }], "bomb"],
  ["a wrong checksum", [...SKILL, { name: "my-skill/c", content: "x", crc: 1 }], "checksum"],
  ["a wrong size", [...SKILL, { name: "my-skill/s", content: "xyz", size: 1 }], "archive"],
])("an archive with %s is refused and leaves nothing", async (_, entries, problem) => {
  const { cached, make, mount, store } = openWorld();
  const making = make([mount(store("a", entries))]);
  await expect(making).rejects.toThrow(SandboxUnavailableError);
  await expect(making).rejects.toThrow(problem);
  expect(cached()).toEqual([]);
});

test("what is no archive is refused, and tried again when it is one", async () => {
  const { cached, make, mount, store } = openWorld();
  const skill = mount(store("a", SKILL));
  const broken = mount(store("a", [{ name: "x", content: "y".repeat(999), flags: 1 }]));
  await expect(make([broken])).rejects.toThrow("cannot be unpacked");
  await expect(make([broken])).rejects.toThrow("cannot be unpacked");
  await make([skill]);
  expect(cached()).toHaveLength(1);
});

test.each([
  ["../escape"],
  ["/mnt/skills/../x"],
  ["/mnt/skills/a/b"],
  ["/mnt/skills/"],
  ["/etc"],
  [`/mnt/skills/${"a".repeat(65)}`],
  ["/mnt/skills/A"],
])("%s is not the place of a skill", async (mount_path) => {
  const { make, mount, store } = openWorld();
  const making = make([mount(store("a", SKILL), { mount_path })]);
  await expect(making).rejects.toThrow("is not the place of a skill");
});

test("two skills of one name are refused", async () => {
  const { make, mount, store } = openWorld();
  const skill = mount(store("a", SKILL));
  await expect(make([skill, skill])).rejects.toThrow("two skills meet at /mnt/skills/my-skill");
});
