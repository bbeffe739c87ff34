import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { testBlobs } from "../core/ports/blobs.testsuite.ts";
import { blobPath } from "./blob-path.ts";
import { LocalBlobs } from "./local-blobs.ts";

testBlobs(async () => {
  const root = freshRoot();
  return {
    blobs: await LocalBlobs.open(root),
    [Symbol.asyncDispose]: async () => {
      expect(readdirSync(join(root, ".drafts"))).toEqual([]);
    },
  };
});

test("keeps a blob as one file that others may read, behind folders that they may not", async () => {
  const root = freshRoot();
  const umask = process.umask(0o077);
  onTestFinished(() => void process.umask(umask));
  const blobs = await LocalBlobs.open(root);
  const { sha256 } = await blobs.put("wrkspc_1", content("hello"));
  const path = blobPath(root, "wrkspc_1", sha256);
  expect(path).toBe(join(root, "wrkspc_1", "2c", "f2", sha256));
  expect(statSync(path).mode & 0o777).toBe(0o644);
  for (const folder of ["", "wrkspc_1", "wrkspc_1/2c", "wrkspc_1/2c/f2"]) {
    expect([folder, statSync(join(root, folder)).mode & 0o777]).toEqual([folder, 0o700]);
  }
});

test("leaves the file of content that is put again as it is, but for its time", async () => {
  const root = freshRoot();
  const blobs = await LocalBlobs.open(root);
  const { sha256 } = await blobs.put("wrkspc_1", content("hello"));
  const path = blobPath(root, "wrkspc_1", sha256);
  const before = statSync(path);
  const longAgo = new Date(before.mtimeMs - 3_600_000);
  utimesSync(path, longAgo, longAgo);
  await blobs.put("wrkspc_1", content("hello"));
  const after = statSync(path);
  expect(after.ino).toBe(before.ino);
  expect(after.mtimeMs).toBeGreaterThan(before.mtimeMs - 1_000);
  await blobs.delete("wrkspc_1", sha256, { putBefore: before.mtimeMs - 1_000 });
  expect(statSync(path).ino).toBe(before.ino);
});

test("removes what a dead process left half-written a day ago, and nothing newer", async () => {
  const root = freshRoot();
  await LocalBlobs.open(root);
  const [old, recent] = [join(root, ".drafts", "old"), join(root, ".drafts", "recent")];
  for (const draft of [old, recent]) writeFileSync(draft, "half");
  const dayAgo = Date.now() / 1000 - 25 * 60 * 60;
  utimesSync(old, dayAgo, dayAgo);
  await LocalBlobs.open(root);
  expect(readdirSync(join(root, ".drafts"))).toEqual(["recent"]);
});

test("names no path outside its folder", () => {
  const sha256 = "0".repeat(64);
  for (const workspaceId of ["", ".", "..", "a/b", "../a", "a\0"]) {
    expect(() => blobPath("/blobs", workspaceId, sha256)).toThrow("workspace");
  }
  expect(() => blobPath("/blobs", "wrkspc_1", "../../etc/passwd")).toThrow("SHA-256");
});

test("takes no more memory for content that is larger than its process may have", async () => {
  const root = freshRoot();
  const script = `
    import { LocalBlobs } from ${JSON.stringify(join(import.meta.dirname, "local-blobs.ts"))};
    async function* content() {
      for (let left = 2048; left > 0; left -= 1) yield Buffer.alloc(64 * 1024, left);
    }
    const blobs = await LocalBlobs.open(process.argv[1]);
    const { sha256, size_bytes } = await blobs.put("wrkspc_1", content());
    let read = 0;
    for await (const part of await blobs.get("wrkspc_1", sha256)) read += part.byteLength;
    const { maxRSS } = process.resourceUsage();
    process.stdout.write(JSON.stringify({ size_bytes, read, grew: maxRSS > 100 * 1024 + baseline }));
  `.replace("import {", "const baseline = process.resourceUsage().maxRSS;\nimport {");
  const args = ["--conditions=drover-source", "--input-type=module", "-e", script, root];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const size_bytes = 128 * 1024 * 1024;
  expect(JSON.parse(stdout)).toEqual({ size_bytes, read: size_bytes, grew: false });
});

function freshRoot(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-blobs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "blobs");
}

async function* content(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
