import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import type { FailPoint } from "../../../lib/fail-point.ts";
import type { ProviderWorld } from "./installation-world.ts";
import { endedBy, heard, startOwner } from "./owner-process.testsuite.ts";
import { findRecord, type SandboxRecord } from "./process-record.ts";

export interface CrashWorld extends ProviderWorld {
  /** What the machine has of the sandbox beside its processes, such as control groups. */
  made(record: SandboxRecord): Promise<readonly string[]>;
  /** Whether it must have any of it once a launch has come to the point; undefined if that is not known. */
  mustHave(point: FailPoint): boolean | undefined;
  /** Whether that may go some time after the processes: by an engine for which nobody waits. */
  readonly goesLater?: boolean;
}

/** Owns a sandbox that writes without pause. */
const WRITING = `
const sandbox = await provider.provision({ workspaceId: "w", handId: "hand_owned", recipe }, signal);
const command = "for i in 1 2 3; do (trap '' TERM HUP; setsid sh -c 'while :; do echo . >> /workspace/beat; done' &) ; done; sleep 600";
sandbox.exec({ command, timeoutMs: 600000 }, () => {}, signal).catch(() => {});
while (!(await sandbox.stat("/workspace/beat"))) await new Promise((resolve) => setTimeout(resolve, 5));
console.log("writing");
`;

/** Dies at a point of the making of a sandbox. */
const DYING = `
armFailPoint({ name: args[0], nth: 1 });
await provider.provision({ workspaceId: "w", handId: "hand_dying", recipe }, signal);
`;

/** Makes several at the same time. */
const MAKING = `
await provider.reap();
console.log("launching");
for (const handId of args) {
  provider.provision({ workspaceId: "w", handId, recipe }, signal).catch(() => {});
}
setInterval(() => undefined, 1000);
`;

const POINTS: readonly FailPoint[] = [
  "hands.provision.after_group",
  "hands.provision.after_launch",
  "hands.provision.after_record",
];

export interface Kills {
  /** How often an owner is killed at a moment of its own while it makes sandboxes. */
  readonly times: number;
  readonly launches: number;
  /** As long as it takes to make them, about. */
  readonly withinMs: number;
}

/** What holds when the process that owns sandboxes is killed. Run for every provider. */
export function testCrashes(
  title: string,
  open: () => Promise<CrashWorld>,
  kills: Kills | undefined = undefined,
): void {
  describe(`sandboxes of a process that was killed (${title})`, () => {
    let world: CrashWorld;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    const handFolder = (hand: string) => join(world.folder, "hands", hand);
    const recordOf = (hand: string): SandboxRecord => {
      const record = findRecord(handFolder(hand));
      if (record === undefined) throw new Error(`there is no record of ${hand}`);
      return record;
    };

    const expectGone = async (record: SandboxRecord) => {
      if (world.goesLater) await expect.poll(() => world.made(record)).toEqual([]);
      else expect(await world.made(record)).toEqual([]);
    };

    async function killOwner(): Promise<void> {
      const owner = startOwner(world, { script: WRITING });
      await heard(owner);
      owner.kill("SIGKILL");
    }

    test("are gone, with all their processes, before the hand's next one is there", async () => {
      await killOwner();
      await using box = await startOn(world.another(), { hand: "hand_owned" });
      const before = await box.sandbox.stat("/workspace/beat");
      expect(before?.size_bytes).toBeGreaterThan(0);
      await box.sh("sleep 0.3");
      expect(await box.sandbox.stat("/workspace/beat")).toEqual(before);
    });

    test("are gone when `reap` says so", async () => {
      await killOwner();
      const record = recordOf("hand_owned");
      await world.another().reap();
      expect(isAlive(record)).toBe(false);
      expect(findRecord(handFolder("hand_owned"))).toBeUndefined();
      await expectGone(record);
    });

    test.each(POINTS)("leave nothing behind that was made before %s", async (point) => {
      const owner = startOwner(world, { script: DYING, args: [point] });
      expect(await endedBy(owner)).toBe("SIGKILL");
      const record = recordOf("hand_dying");
      const expected = world.mustHave(point);
      const made = await world.made(record);
      if (expected !== undefined) expect(made.length > 0).toBe(expected);
      await world.another().reap();
      await expectGone(record);
      expect(findRecord(handFolder("hand_dying"))).toBeUndefined();
    });

    test("die by themselves", async () => {
      await killOwner();
      const record = recordOf("hand_owned");
      await expect.poll(() => isAlive(record), { timeout: 20_000 }).toBe(false);
    });

    test.skipIf(kills === undefined)("leave nothing, whenever that was", async () => {
      const { times = 0, launches = 0, withinMs = 0 } = kills ?? {};
      for (let kill = 0; kill < times; kill += 1) {
        const hands = Array.from({ length: launches }, (_, n) => `hand_${kill}_${n}`);
        const owner = startOwner(world, { script: MAKING, args: hands });
        await heard(owner);
        // The moment is what is tested.
        const ms = (Math.random() + kill) * (withinMs / times);
        await new Promise((resolve) => setTimeout(resolve, ms));
        owner.kill("SIGKILL");
        await endedBy(owner);
        const records = hands.flatMap((hand) => findRecord(handFolder(hand)) ?? []);
        await world.another().reap();
        for (const record of records) {
          expect(isAlive(record)).toBe(false);
          await expectGone(record);
        }
        const files = readdirSync(join(world.folder, "hands"), { recursive: true });
        expect(files.filter((file) => String(file).endsWith("sandbox.json"))).toEqual([]);
      }
    });

    test("are left alone by another installation", async () => {
      await using other = await open();
      await using box = await startOn(other.provider);
      await world.another().reap();
      expect((await box.sh("echo alive")).output).toBe("alive\n");
    });
  });
}

function isAlive(record: SandboxRecord): boolean {
  if (!("pid" in record) || !existsSync(`/proc/${record.pid}/stat`)) return false;
  try {
    const stat = readFileSync(`/proc/${record.pid}/stat`, "latin1");
    return !stat.includes(") Z ") && stat.includes(` ${record.start_time} `);
  } catch {
    // It has ended meanwhile.
    return false;
  }
}
