import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { FileMount } from "../../../core/ports/hands.ts";
import { UploadTree } from "./upload-tree.ts";

test("what an earlier process made is used again if it is what is wanted", async () => {
  const world = await open();
  const mounts = [await world.mount("a", "1"), await world.mount("deep/b", "2")];
  const { path } = await UploadTree.make(world.options, mounts);
  const before = await stat(path);
  await UploadTree.make(world.options, mounts);
  expect((await stat(path)).ino).toBe(before.ino);
  await UploadTree.make(world.options, mounts.slice(1));
  expect(await world.shown()).toEqual(["deep/b: 2"]);
});

test("a change goes on in the same folder; what is the same stays", async () => {
  const world = await open();
  const [a, b] = [await world.mount("a", "1"), await world.mount("deep/b", "2")];
  const tree = await UploadTree.make(world.options, [a, b]);
  const [folder, file] = [await stat(tree.path), await stat(join(tree.path, "a"))];
  await tree.show([a, await world.mount("deep", "3"), await world.mount("x/y/z", "4")]);
  expect(await world.shown()).toEqual(["a: 1", "deep: 3", "x/y/z: 4"]);
  await tree.show([a, b]);
  expect(await world.shown()).toEqual(["a: 1", "deep/b: 2"]);
  expect([(await stat(tree.path)).ino, (await stat(join(tree.path, "a"))).ino]).toEqual([
    folder.ino,
    file.ino,
  ]);
  await UploadTree.make(world.options, [a, b]);
  expect((await stat(tree.path)).ino).toBe(folder.ino);
});

test("a change that was broken off is not believed by the next process, and goes on in this one", async () => {
  const world = await open();
  const [a, b] = [await world.mount("a", "1"), await world.mount("b", "2")];
  const missing = { ...b, sha256: "0".repeat(64) };
  const tree = await UploadTree.make(world.options, [a]);
  const broken = tree.show([await world.mount("c", "3"), missing]);
  await expect(broken).rejects.toThrow("cannot be had");
  expect(await world.shown()).toEqual(["c: 3"]);
  await tree.show([b]);
  expect(await world.shown()).toEqual(["b: 2"]);
  await expect(tree.show([missing])).rejects.toThrow("cannot be had");
  await UploadTree.make(world.options, [a]);
  expect(await world.shown()).toEqual(["a: 1"]);
});

test("folders of earlier versions, and drafts, are taken away", async () => {
  const world = await open();
  const { handFolder } = world.options;
  await mkdir(join(handFolder, "uploads-0123456789abcdef"));
  await mkdir(join(handFolder, "uploads.tmp"));
  await UploadTree.make(world.options, []);
  expect((await readdir(handFolder)).toSorted()).toEqual(["uploads", "uploads.json"]);
});

async function open() {
  const folder = await mkdtemp(join(tmpdir(), "drover-uploads-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [handFolder, blobs] = [join(folder, "hand"), join(folder, "blobs")];
  await mkdir(handFolder);
  await mkdir(blobs);
  const blobPath = (sha256: string) => join(blobs, sha256);
  const shown = join(handFolder, "uploads");
  return {
    options: { handFolder, blobPath, isForeign: false },
    mount: async (path: string, content: string): Promise<FileMount> => {
      const sha256 = createHash("sha256").update(content).digest("hex");
      await writeFile(blobPath(sha256), content);
      const mount_path = `/mnt/session/uploads/${path}`;
      return { type: "file", mount_path, sha256, size_bytes: content.length };
    },
    /** The files and their content, in order. */
    shown: async () => {
      const entries = await readdir(shown, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      const lines = files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return `${path.slice(shown.length + 1)}: ${await readFile(path, "utf8")}`;
      });
      return (await Promise.all(lines)).toSorted();
    },
  };
}
