import { describe, expect, test } from "vitest";
import type { BlobRef, Blobs } from "./blobs.ts";

const HELLO: BlobRef = {
  sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  size_bytes: 5,
};

/** The contract of `Blobs`, run by the test of every implementation. */
export function testBlobs(open: () => Promise<{ blobs: Blobs } & AsyncDisposable>): void {
  describe("Blobs", () => {
    test("gives back what was put, under its hash", async () => {
      await using world = await open();
      expect(await world.blobs.put("wrkspc_1", chunks("he", "", "llo"))).toEqual(HELLO);
      expect(await read(world.blobs, "wrkspc_1", HELLO.sha256)).toBe("hello");
    });

    test("keeps empty content", async () => {
      await using world = await open();
      const { sha256, size_bytes } = await world.blobs.put("wrkspc_1", chunks());
      expect(size_bytes).toBe(0);
      expect(await read(world.blobs, "wrkspc_1", sha256)).toBe("");
    });

    test("keeps the same content once, also when it is put at the same time", async () => {
      await using world = await open();
      const refs = await Promise.all(
        Array.from({ length: 5 }, () => world.blobs.put("wrkspc_1", chunks("hello"))),
      );
      expect(refs).toEqual(Array.from({ length: 5 }, () => HELLO));
      await world.blobs.delete("wrkspc_1", HELLO.sha256);
      expect(await read(world.blobs, "wrkspc_1", HELLO.sha256)).toBeUndefined();
    });

    test("keeps content that was put since it was to go, also if it was there before", async () => {
      await using world = await open();
      const { blobs } = world;
      // Far from now either way: file systems tell the time of a file in steps.
      const [before, after] = [Date.now() - 60_000, Date.now() + 60_000];
      await blobs.put("wrkspc_1", chunks("hello"));
      await blobs.put("wrkspc_1", chunks("hello"));
      await blobs.delete("wrkspc_1", HELLO.sha256, { putBefore: before });
      expect(await read(blobs, "wrkspc_1", HELLO.sha256)).toBe("hello");
      await blobs.delete("wrkspc_1", HELLO.sha256, { putBefore: after });
      await blobs.delete("wrkspc_1", HELLO.sha256, { putBefore: after });
      expect(await read(blobs, "wrkspc_1", HELLO.sha256)).toBeUndefined();
    });

    test("reads a range, cut at the end of the content", async () => {
      await using world = await open();
      await world.blobs.put("wrkspc_1", chunks("hello"));
      const range = (start: number, end: number) =>
        read(world.blobs, "wrkspc_1", HELLO.sha256, { start, end });
      expect(await range(1, 3)).toBe("el");
      expect(await range(3, 99)).toBe("lo");
      expect(await range(2, 2)).toBe("");
      expect(await range(9, 12)).toBe("");
    });

    test("does not show a blob to another workspace", async () => {
      await using world = await open();
      await world.blobs.put("wrkspc_1", chunks("hello"));
      expect(await read(world.blobs, "wrkspc_2", HELLO.sha256)).toBeUndefined();
      await world.blobs.delete("wrkspc_2", HELLO.sha256);
      expect(await read(world.blobs, "wrkspc_1", HELLO.sha256)).toBe("hello");
    });

    test("finds nothing under what is no hash", async () => {
      await using world = await open();
      await world.blobs.put("wrkspc_1", chunks("hello"));
      for (const name of ["", "..", "../wrkspc_1", HELLO.sha256.toUpperCase(), "0".repeat(64)]) {
        expect(await read(world.blobs, "wrkspc_1", name)).toBeUndefined();
        await world.blobs.delete("wrkspc_1", name);
      }
      expect(await read(world.blobs, "wrkspc_1", HELLO.sha256)).toBe("hello");
    });

    test("lists what was put before a time and not again since, of all workspaces", async () => {
      await using world = await open();
      const { blobs } = world;
      const all = async (putBefore: number) => {
        const found: string[] = [];
        for await (const blob of blobs.list(putBefore)) found.push(blob.workspaceId);
        return found.sort();
      };
      expect(await all(Number.POSITIVE_INFINITY)).toEqual([]);
      await blobs.put("wrkspc_1", chunks("hello"));
      await blobs.put("wrkspc_1", chunks("other"));
      await blobs.put("wrkspc_2", chunks("hello"));
      // Far from now either way: file systems tell the time of a file in steps.
      expect(await all(Date.now() - 60_000)).toEqual([]);
      expect(await all(Date.now() + 60_000)).toEqual(["wrkspc_1", "wrkspc_1", "wrkspc_2"]);
      await blobs.delete("wrkspc_1", HELLO.sha256);
      expect(await all(Date.now() + 60_000)).toEqual(["wrkspc_1", "wrkspc_2"]);
    });

    test("stores nothing of content that breaks off, and rejects with its error", async () => {
      await using world = await open();
      const failure = new Error("the client went away");
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.from("hello");
        throw failure;
      }
      await expect(world.blobs.put("wrkspc_1", broken())).rejects.toBe(failure);
      expect(await read(world.blobs, "wrkspc_1", HELLO.sha256)).toBeUndefined();
      expect(await world.blobs.put("wrkspc_1", chunks("hello"))).toEqual(HELLO);
    });
  });
}

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function read(
  blobs: Blobs,
  workspaceId: string,
  sha256: string,
  range?: { start: number; end: number },
): Promise<string | undefined> {
  const content = await blobs.get(workspaceId, sha256, range);
  if (content === undefined) return undefined;
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts).toString();
}
