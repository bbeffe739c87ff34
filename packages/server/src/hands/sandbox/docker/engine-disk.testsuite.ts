import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { FILL, FULL, hits, LET_GO, testDisks } from "../../../core/ports/sandbox-disk.testsuite.ts";
import { openBubblewrapWorld } from "../bubblewrap/test-world.ts";
import type { EngineDiskWorld } from "./disk-world.testsuite.ts";

type Open = () => Promise<EngineDiskWorld>;

/** What holds for disks that an engine is shown: what holds for all, and that nothing of them stays with it. */
export function testEngineDisks(name: string, open: Open): void {
  testDisks(name, open);
  describe(`the disk that an engine is shown, of ${name}`, () => {
    let world: EngineDiskWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());
    const letGo = () =>
      expect.poll(() => world.used(), LET_GO).toEqual({ attached: 0, mounted: 0 });

    test("is let go of when the process dies that had it mounted", async () => {
      await letGo();
      await world.killMaker("hand_killed", "mounted");
      await using box = await startOn(world.another(), { hand: "hand_killed" });
      expect((await box.sh("echo fine >fine; cat fine")).output).toBe("fine\n");
      expect(world.used()).toEqual({ attached: 1, mounted: 0 });
    });

    test("is not kept by a sandbox of bubblewrap that is made while the host sees it", async () => {
      await letGo();
      await world.leaveMounted("hand_seen");
      await using beside = await openBubblewrapWorld();
      await using box = await startOn(beside.provider);
      expect(world.used()).toEqual({ attached: 1, mounted: 1 });
      await world.another().reap();
      await letGo();
      expect((await box.sh("echo alive")).output).toBe("alive\n");
    });

    test("is unmounted by the next process where all were killed", async () => {
      const hand = "hand_mounted";
      await letGo();
      await world.leaveMounted(hand);
      expect(world.used()).toEqual({ attached: 1, mounted: 1 });
      await world.another().reap();
      await letGo();
      // Neither is it in the way of a sandbox of the same hand.
      await world.leaveMounted(hand);
      await using box = await startOn(world.another(), { hand });
      expect((await box.sh("echo fine >fine; cat fine")).output).toBe("fine\n");
      expect(world.used()).toEqual({ attached: 1, mounted: 0 });
    });
  });
}

/** That a runtime which has a kernel of its own is bound by the same disk. */
export function testForeignDisk(name: string, open: Open): void {
  test(`the disk of ${name} is full where it is, and let go of with the sandbox`, async () => {
    await using world = await open();
    const box = await startOn(world.strict());
    expect(await hits(box, FILL)).toEqual({ exitCode: 1, hits: [FULL] });
    expect(await hits(box, "rm big; echo room >more")).toEqual({ exitCode: 0, hits: [] });
    expect(world.used()).toEqual({ attached: 1, mounted: 0 });
    await box.sandbox.close();
    await expect.poll(() => world.used(), LET_GO).toEqual({ attached: 0, mounted: 0 });
  });
}
