import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limitSentence } from "../sandboxes/limits.ts";
import { type Box, type SandboxWorld, startOn } from "./sandbox.testsuite.ts";

const MB = 1024 * 1024;
/** What the worlds of this suite limit the disk to. */
export const TESTED_DISK = { diskBytes: 64 * MB } as const;

export interface DiskWorld extends SandboxWorld {
  /** Whether a disk can be limited here, which is known beforehand. */
  readonly mustLimit: boolean;
  /** Makes no sandbox unless the limit is enforced. */
  strict(): SandboxWorld["provider"];
  /** Has no limit on the disk. */
  unlimited(): SandboxWorld["provider"];
  /** How many disks of the installation the host has in use, and how many of them its own mounts show. */
  used(): { readonly attached: number; readonly mounted: number };
  /** Bytes that the host keeps for the hand. */
  kept(hand: string): number;
  /** Ends a process that writes in a sandbox of the hand without pause, as `kill -9` does. */
  killWriter(hand: string): Promise<void>;
  /** Ends a process that makes a sandbox of the hand: when its disk was chosen, or where the host sees it mounted. */
  killMaker(hand: string, when?: "mounted"): Promise<void>;
  /** As when the host could not write what the sandbox's kernel had to write. */
  damage(hand: string, how: "marked" | "unreadable" | "never made"): void;
}

/** What is told of a full disk. */
export const FULL =
  "disk full: disk limit 64 MB (delete files in /workspace or /mnt/session/outputs to go on)";
const FULL_OF_FILES = FULL.replace("disk full:", "disk full of files:");
/** The kernel takes its time when the last process of a sandbox is gone. */
export const LET_GO = { timeout: 20_000 } as const;
/** Writes until it cannot. */
export const FILL = "cat /dev/zero >/workspace/big";

/** What a provider says of a sandbox's disk, holds; run by the test of every implementation. */
export function testDisks(name: string, open: () => Promise<DiskWorld>): void {
  describe(`the disk of ${name}`, () => {
    let world: DiskWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());
    const letGo = () =>
      expect.poll(() => world.used(), LET_GO).toEqual({ attached: 0, mounted: 0 });

    test("is limited where it is said to be, and else none is made that needs it", async () => {
      const capabilities = await world.provider.capabilities(new AbortController().signal);
      expect(capabilities.diskLimit).toBe(world.mustLimit);
      const made = startOn(world.strict());
      if (world.mustLimit) return (await made).sandbox.close();
      await expect(made).rejects.toThrow(
        /limit on the disk of a sandbox cannot be enforced here.*DROVER_SANDBOX_ENFORCE/,
      );
    });

    test("is full where it is, for every way to write, and goes on when files are deleted", async ({
      skip,
    }) => {
      if (!world.mustLimit) skip();
      await using box = await startOn(world.provider, { hand: "hand_full" });
      await box.sh("X=kept; echo precious >/workspace/precious");
      expect(await hits(box, FILL)).toEqual({ exitCode: 1, hits: [FULL] });
      expect(world.kept("hand_full")).toBeLessThan(TESTED_DISK.diskBytes + MB);
      expect(await hits(box, "head -c 2000000 /dev/zero >/mnt/session/outputs/more")).toEqual({
        exitCode: 1,
        hits: [FULL],
      });
      const written = box.sandbox.write("/workspace/more", new Uint8Array(MB));
      const limits = [{ type: "disk", limitBytes: TESTED_DISK.diskBytes, of: "bytes" }];
      await expect(written).rejects.toMatchObject({ code: "ENOSPC", limits });
      const after = await hits(
        box,
        'rm /workspace/big; test "$X" = kept && cat /workspace/precious',
      );
      expect(after).toEqual({ exitCode: 0, hits: [] });
      await box.sandbox.write("/workspace/more", new Uint8Array(MB));
      // What was deleted is the host's again.
      await box.sh("sync -f /workspace");
      await expect.poll(() => world.kept("hand_full"), LET_GO).toBeLessThan(20 * MB);
    });

    test("has writable copies of memory stores in it, which stay for the next sandbox", async ({
      skip,
    }) => {
      if (!world.mustLimit) skip();
      const hand = "hand_memory";
      const store = { type: "memory_store", memory_store_id: "memstore_1" } as const;
      const place = { mount_path: "/mnt/memory/notes", access: "read_write" } as const;
      const start = () => startOn(world.provider, { hand, mounts: [{ ...store, ...place }] });
      const box = await start();
      const fill = "echo kept >/mnt/memory/notes/a; cat /dev/zero >/mnt/memory/notes/big";
      expect(await hits(box, fill)).toEqual({ exitCode: 1, hits: [FULL] });
      expect(world.kept(hand)).toBeLessThan(TESTED_DISK.diskBytes + MB);
      await box.sandbox.close();
      await using next = await start();
      expect((await next.sh("cat /mnt/memory/notes/a")).output).toBe("kept\n");
    });

    test("is one for all that is kept, with no devices and no other users' rights on it", async ({
      skip,
    }) => {
      if (!world.mustLimit) skip();
      await using box = await startOn(world.provider);
      const folders = "/workspace /mnt/session/outputs /mnt/session/.spill";
      const { output } = await box.sh(
        `stat -c '%d %U' ${folders} | sort -u | wc -l; grep -c ' /workspace .*nosuid,nodev.*ext4' /proc/self/mountinfo; ls -A ${folders} | grep -c lost; ls /dev | grep -c loop`,
      );
      expect(output).toBe("1\n1\n0\n0\n");
    });

    test("is not seen among the host's mounts, and let go of with the sandbox", async ({
      skip,
    }) => {
      if (!world.mustLimit) skip();
      await letGo();
      const box = await startOn(world.provider, { hand: "hand_mounted" });
      expect(world.used()).toEqual({ attached: 1, mounted: 0 });
      await box.sh("echo kept >/workspace/kept; head -c 5000000 /dev/urandom >/workspace/random");
      await box.sandbox.close();
      await letGo();
      await using again = await startOn(world.another(), { hand: "hand_mounted" });
      expect((await again.sh("cat kept; wc -c <random")).output).toBe("kept\n5000000\n");
    });

    test("is whole, and no one else's, after the process that owned it was killed", async ({
      skip,
    }) => {
      if (!world.mustLimit) skip();
      await letGo();
      await world.killWriter("hand_written");
      await using box = await startOn(world.another(), { hand: "hand_written" });
      const before = await box.sandbox.stat("/workspace/beat");
      expect(before?.size_bytes).toBeGreaterThan(0);
      await box.sh("sleep 0.3");
      expect(await box.sandbox.stat("/workspace/beat")).toEqual(before);
      expect(world.used()).toEqual({ attached: 1, mounted: 0 });
    });
  });
}

/** What holds for the file that a disk is, whoever shows it to a sandbox; run where one is made soonest. */
export function testDiskFiles(name: string, open: () => Promise<DiskWorld>): void {
  describe(`the file of the disk of ${name}`, () => {
    let world: DiskWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    test("is told of once, and never as what it is not", async () => {
      await using box = await startOn(world.provider);
      expect(box.sandbox.takeFacts()?.limits).toMatchObject({
        disk_bytes: { limit: TESTED_DISK.diskBytes, enforced: world.mustLimit },
        processes: { limit: 512, enforced: true },
        cpus: null,
      });
      expect(box.sandbox.takeFacts()).toBeUndefined();
      await using other = await startOn(world.unlimited());
      expect(other.sandbox.takeFacts()?.limits).toMatchObject({ disk_bytes: null });
      expect((await other.sh("echo fine")).output).toBe("fine\n");
    });

    test("is full of files where there can be no more of them", async ({ skip }) => {
      if (!world.mustLimit) skip();
      await using box = await startOn(world.provider);
      const touch =
        "perl -e 'for (1 .. 100_000) { open my $file, q(>), qq(/workspace/$_) or exit 3 }'";
      expect(await hits(box, touch)).toEqual({ exitCode: 3, hits: [FULL_OF_FILES] });
    });

    test("is there although the process died that chose it", async ({ skip }) => {
      if (!world.mustLimit) skip();
      await world.killMaker("hand_begun");
      await using box = await startOn(world.another(), { hand: "hand_begun" });
      expect((await hits(box, FILL)).hits).toEqual([FULL]);
    });

    test("is none for files that were begun without, which stay what they are", async ({
      skip,
    }) => {
      if (!world.mustLimit) skip();
      const hand = "hand_older";
      const older = await startOn(world.unlimited(), { hand });
      await older.sh("echo old >/workspace/old");
      await older.sandbox.close();
      const refused = startOn(world.strict(), { hand });
      await expect(refused).rejects.toThrow("its files were begun without one");
      await using box = await startOn(world.provider, { hand });
      expect((await box.sh("cat old")).output).toBe("old\n");
      const { limit, enforced } = box.sandbox.takeFacts()?.limits.disk_bytes ?? {};
      expect({ limit, enforced }).toEqual({ limit: TESTED_DISK.diskBytes, enforced: false });
    });

    test.for(["marked", "unreadable", "never made"] as const)(
      "is repaired where it is %s",
      async (how, { skip }) => {
        if (!world.mustLimit) skip();
        const hand = `hand_${how.replace(" ", "_")}`;
        const box = await startOn(world.provider, { hand });
        await box.sh("echo kept >/workspace/kept; sync -f /workspace");
        await box.sandbox.close();
        await expect.poll(() => world.used().attached, LET_GO).toBe(0);
        world.damage(hand, how);
        await using again = await startOn(world.provider, { hand });
        const { output } = await again.sh("cat kept; echo new >/workspace/new && cat new");
        expect(output).toMatch(how === "never made" ? /new\n$/ : /^kept\nnew\n$/);
      },
    );
  });
}

/** How a command ends, and what is told of limits. */
export async function hits(box: Box, command: string) {
  const { exitCode, limits = [] } = await box.exec({ command, timeoutMs: 60_000 });
  return { exitCode, hits: limits.map(limitSentence) };
}
