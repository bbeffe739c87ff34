import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { SandboxGoneError } from "../../../core/ports/sandbox.ts";
import type { RunawaysWorld } from "../../../core/ports/sandbox-runaways.testsuite.ts";

const TIMEOUT_MS = 400;
const ANSWER_MS = 3_000;
/** For the agent, which is taken for lost when it does not answer, and for the end of some ten thousand threads. */
const GRACE_MS = 15_000;
const BOMB = "bash -c 'f() { f | f; }; f' 2>/dev/null";

/**
 * As many processes as sandboxes may have by default are more than gVisor can bear that all start others: each has up
 * to 32 threads on the machine. The sandbox may be lost for that, and nothing else.
 */
export function testBombs(name: string, open: () => Promise<RunawaysWorld>): void {
  describe(`${name}: a fork bomb of hundreds of processes`, () => {
    let world: RunawaysWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    test("is over in time, survived by the hand's files alone", async () => {
      const hand = "hand_bombed";
      await using box = await startOn(world.another({ answerMs: ANSWER_MS }), { hand });
      await box.sh("echo kept >kept");
      const isLeft = world.hostProcesses?.(hand);
      const startMs = performance.now();
      const end = await box.sh(BOMB, TIMEOUT_MS).then(
        ({ ended }) => ended,
        (error: unknown) => {
          if (error instanceof SandboxGoneError) return "gone";
          throw error;
        },
      );
      expect(["timeout", "gone"]).toContain(end);
      await box.sandbox.close();
      expect(performance.now() - startMs).toBeLessThan(TIMEOUT_MS + GRACE_MS);
      await expect.poll(() => isLeft?.()).toEqual([]);
      await using next = await startOn(world.provider, { hand });
      expect((await next.sh("cat kept")).output).toBe("kept\n");
    });
  });
}
