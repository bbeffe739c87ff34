import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limitSentence } from "../sandboxes/limits.ts";
import { type Box, type SandboxWorld, startOn } from "./sandbox.testsuite.ts";
import type { SandboxCapabilities } from "./sandbox.ts";

/** What the worlds of this suite limit their sandboxes to. */
export const TESTED_LIMITS = { memoryBytes: 128 * 1024 * 1024, cpus: 0.5, processes: 24 } as const;

export interface LimitsWorld extends SandboxWorld {
  /** Whether memory and processors can be limited, where that is known beforehand. */
  readonly mustLimit: boolean | undefined;
  /**
   * Whether a sandbox has a kernel of its own: that is what takes the memory of all inside, and so the sandbox
   * ends where there is no more, and it refuses forks itself, untold.
   */
  readonly hasOwnKernel?: boolean;
  /** Whether a sandbox's groups may go some time after it: by an engine for which nobody waits. */
  readonly goLater?: boolean;
  /** As another installation on the machine has them. */
  neighbour(): Promise<LimitsWorld>;
  /** A further provider on the same data that makes no sandbox unless all limits are enforced. */
  strict(): SandboxWorld["provider"];
  /** How many groups the kernel has still of all that this has seen the sandboxes of this world in. */
  groups(): number;
  /** How often the sandbox of the hand was made to wait for the processor. */
  throttled(hand: string): number;
  /** Kills the sandbox of the hand from outside. */
  kill(hand: string): void;
}

const HOG = "perl -e '$x = q(a) x 600_000_000; sleep 60'";
/** Stops at the first fork that is refused; every child waits to be ended. */
const FORKS =
  "perl -e 'for (1 .. 200) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 60; exit } push @all, $pid } print scalar @all; kill 9, @all'";
const BOMB = "perl -e 'fork while 1'";

/** What a provider says it limits, it limits; run by the test of every implementation. */
export function testLimits(name: string, open: () => Promise<LimitsWorld>): void {
  describe(`limits of ${name}`, () => {
    let world: LimitsWorld;
    let capabilities: SandboxCapabilities;
    beforeAll(async () => {
      world = await open();
      capabilities = await world.provider.capabilities(new AbortController().signal);
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    test("are declared by what the kernel has been seen to take", () => {
      expect(capabilities).toMatchObject({ processLimit: true });
      if (world.mustLimit !== undefined) {
        const { memoryLimit, cpuLimit } = capabilities;
        expect([memoryLimit, cpuLimit]).toEqual([world.mustLimit, world.mustLimit]);
      }
    });

    test("are required or no sandbox is made", async () => {
      const made = startOn(world.strict());
      if (capabilities.memoryLimit && capabilities.cpuLimit) return (await made).sandbox.close();
      await expect(made).rejects.toThrow(
        /of a sandbox cannot be enforced here.*DROVER_SANDBOX_ENFORCE/,
      );
    });

    test("end what takes too much memory, say so, and leave the sandbox alive", async ({
      skip,
    }) => {
      if (!capabilities.memoryLimit || world.hasOwnKernel) skip();
      await using box = await startOn(world.provider);
      await box.sh("X=kept");
      expect(await hits(box, HOG)).toEqual({ exitCode: 137, hits: [MEMORY] });
      expect(await hits(box, 'echo "$X"; test "$X" = kept')).toEqual({ exitCode: 0, hits: [] });
      // A child that nobody asks for is told of all the same.
      expect(await hits(box, `${HOG} & wait; true`)).toEqual({ exitCode: 0, hits: [MEMORY] });
    });

    test("end a sandbox whose own kernel takes too much memory, say so, and spare its files", async ({
      skip,
    }) => {
      if (!world.hasOwnKernel) skip();
      const hand = "hand_hog";
      await using box = await startOn(world.provider, { hand });
      await box.sh("echo kept >/workspace/kept");
      const hog = box.exec({ command: HOG, timeoutMs: 60_000 });
      await expect(hog).rejects.toThrow(`the sandbox is gone: ${MEMORY}`);
      await using next = await startOn(world.provider, { hand });
      expect((await next.sh("cat kept")).output).toBe("kept\n");
    });

    test("count all processes together", async ({ skip }) => {
      if (!capabilities.memoryLimit || world.hasOwnKernel) skip();
      await using box = await startOn(world.provider);
      const command =
        "for i in 1 2 3 4 5 6; do perl -e '$x = q(a) x 40_000_000; sleep 60' & done; wait -n; kill $(jobs -p) 2>/dev/null; wait; true";
      expect((await hits(box, command)).hits).toEqual([MEMORY]);
      expect((await box.sh("echo alive")).output).toBe("alive\n");
    });

    test("leave room for what is kept in memory, which is full before they are met", async ({
      skip,
    }) => {
      if (!capabilities.memoryLimit) skip();
      await using box = await startOn(world.provider);
      const fill = "for d in /tmp /var/tmp /dev/shm /run; do cat /dev/zero > $d/full; done";
      const { limits, exitCode } = await box.exec({ command: fill, timeoutMs: 60_000 });
      expect({ limits, exitCode }).toEqual({ limits: undefined, exitCode: 1 });
      expect((await box.sh("rm /tmp/full; echo alive")).output).toBe("alive\n");
    });

    test("refuse further processes, and say so where that is counted", async () => {
      await using box = await startOn(world.provider);
      const { exitCode, output } = await box.sh(FORKS);
      expect(exitCode).toBe(0);
      expect(Number(output)).toBeGreaterThan(12);
      expect(Number(output)).toBeLessThan(TESTED_LIMITS.processes);
      // Groups count refusals; what a process carries itself does not.
      const isCounted = capabilities.memoryLimit && !world.hasOwnKernel;
      const said = isCounted ? [`fork refused: limit of ${TESTED_LIMITS.processes} processes`] : [];
      expect((await hits(box, FORKS)).hits).toEqual(said);
    });

    test("hold a fork bomb, beside which another sandbox answers", async () => {
      await using box = await startOn(world.provider);
      await using other = await startOn(world.provider);
      const bomb = box.sh(BOMB, 1_500);
      expect((await other.sh("echo alive")).output).toBe("alive\n");
      expect(await bomb).toMatchObject({ ended: "timeout" });
      expect((await box.sh("echo /proc/[0-9]* | wc -w; echo alive")).output).toMatch(
        /^\d\nalive\n$/,
      );
    });

    test("are named where the sandbox dies before it could tell", async ({ skip }) => {
      if (!capabilities.memoryLimit || world.hasOwnKernel) skip();
      const hand = "hand_dying";
      await using box = await startOn(world.provider, { hand });
      const command = `${HOG} & wait; echo killed; sleep 60`;
      const dying = box.sandbox.exec(
        { command, timeoutMs: 60_000 },
        (chunk) => {
          if (new TextDecoder().decode(chunk).includes("killed\n")) world.kill(hand);
        },
        new AbortController().signal,
      );
      await expect(dying).rejects.toThrow("the sandbox is gone: killed: memory limit 128 MB");
      expect(await box.sandbox.closed).toContain("killed: memory limit 128 MB");
    });

    test("slow down what takes too much of the processor", async ({ skip }) => {
      if (!capabilities.cpuLimit) skip();
      const hand = "hand_throttled";
      await using box = await startOn(world.provider, { hand });
      const enough = new AbortController();
      const command = "while :; do :; done & while :; do :; done";
      const running = box.sandbox.exec({ command, timeoutMs: 60_000 }, () => {}, enough.signal);
      // On a busy machine it takes a while until it gets as much as it is limited to.
      await expect.poll(() => world.throttled(hand), { timeout: 30_000 }).toBeGreaterThan(0);
      enough.abort();
      expect((await running).ended).toBe("cancelled");
    });

    test("are counted in groups that go with the sandbox, and never with another's", async ({
      skip,
    }) => {
      if (!capabilities.memoryLimit) skip();
      await using neighbour = await world.neighbour();
      await using theirs = await startOn(neighbour.provider);
      await using box = await startOn(world.provider);
      const count = neighbour.groups();
      expect(count).toBeGreaterThan(0);
      const expectGroups = async (left: number) => {
        if (world.goLater) await expect.poll(() => world.groups()).toBe(left);
        else expect(world.groups()).toBe(left);
      };
      await expectGroups(count);
      await box.sandbox.close();
      await expectGroups(0);
      await world.another().reap();
      expect(neighbour.groups()).toBe(count);
      expect((await theirs.sh("echo alive")).output).toBe("alive\n");
    });
  });
}

const MEMORY = "killed: memory limit 128 MB (at least one process of the sandbox was ended by it)";

async function hits(box: Box, command: string) {
  const { exitCode, limits = [] } = await box.exec({ command, timeoutMs: 60_000 });
  return { exitCode, hits: limits.map(limitSentence) };
}
