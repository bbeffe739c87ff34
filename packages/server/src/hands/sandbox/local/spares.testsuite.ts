import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Mount, SandboxNetwork } from "../../../core/ports/hands.ts";
import { Box, startOn } from "../../../core/ports/sandbox.testsuite.ts";
import type { SandboxCapabilities } from "../../../core/ports/sandbox.ts";
import {
  type DiskWorld,
  FILL,
  FULL,
  hits,
  LET_GO,
  TESTED_DISK,
} from "../../../core/ports/sandbox-disk.testsuite.ts";
import { TESTED_LIMITS } from "../../../core/ports/sandbox-limits.testsuite.ts";
import type { SpareSandbox } from "../../../core/ports/spares.ts";
import type { FailPoint } from "../../../lib/fail-point.ts";
import { PUBLIC } from "../../egress/outside.testsuite.ts";
import { diskWorld } from "./disk-world.testsuite.ts";
import type { ProviderWorld } from "./installation-world.ts";
import { endedBy, startOwner } from "./owner-process.testsuite.ts";
import { findRecord } from "./process-record.ts";

/** What the worlds of this suite limit their sandboxes to. */
export const SPARE_LIMITS = { ...TESTED_LIMITS, ...TESTED_DISK } as const;

interface SparesWorld extends ProviderWorld {
  readonly used: DiskWorld["used"];
}

const NONE: SandboxNetwork = { type: "none" };
const HOG = "perl -e '$x = q(a) x 600_000_000; sleep 60'";

/** Dies while a spare is made, becomes a hand's, or is ended unused. */
const DYING = `
const [name, nth, how] = args;
armFailPoint({ name, nth: Number(nth) });
const spare = await provider.spares.make({ recipe }, signal);
if (how === "ended") await spare.close();
else await spare.adopt({ workspaceId: "wrkspc_test", handId: "hand_dying", recipe }, signal);
process.exit(3);
`;

type Death = readonly [point: FailPoint, nth: number, meanwhile: "adopted" | "ended"];

const DEATHS: readonly Death[] = [
  ["hands.provision.after_launch", 1, "adopted"],
  ["hands.warm.after_make", 1, "adopted"],
  ["hands.warm.after_record", 1, "adopted"],
  ["hands.warm.after_entry", 1, "adopted"],
  ["hands.warm.after_entry", 2, "adopted"],
  ["hands.warm.after_move", 1, "adopted"],
  ["hands.warm.after_adopt", 1, "adopted"],
  ["hands.warm.after_end", 1, "ended"],
];

/** Where both folders have the sandbox, or neither has it whole. */
export const HALF_MOVED: readonly Death[] = DEATHS.filter(([point]) =>
  /\.after_(?:record|entry|end)$/.test(point),
);

/** Sandboxes that were made before the hand they are used for; run for every provider that makes such. */
export function testSpares(
  name: string,
  open: (limits: typeof SPARE_LIMITS) => Promise<ProviderWorld>,
  deaths: readonly Death[] = DEATHS,
): void {
  describe(`spare sandboxes of ${name}`, () => {
    let world: SparesWorld;
    let capabilities: SandboxCapabilities;
    const made: SpareSandbox[] = [];
    beforeAll(async () => {
      const opened = await open(SPARE_LIMITS);
      world = { ...opened, used: diskWorld({ world: opened, provide: opened.another }).used };
      capabilities = await world.provider.capabilities(never());
      const hello = createServer((_request, response) => void response.end("hello"));
      await world.outside.serve(PUBLIC, 80, hello);
      for (const host of ["api.test", "other.test"]) world.outside.name(host, [PUBLIC]);
    });
    afterEach(async () => {
      await Promise.all(made.splice(0).map((spare) => spare.close()));
      expect(spareIds()).toEqual([]);
    });
    afterAll(async () => world[Symbol.asyncDispose]());

    const folderOf = (hand: string) => join(world.folder, "hands", hand);
    const spareIds = () =>
      readdirSync(join(world.folder, "hands")).filter((id) => id.startsWith("spare-"));
    const recipeOf = (network = NONE, mounts: readonly Mount[] = []) => ({
      ...{ provider: world.provider.names[0], base: { type: "host" as const } },
      ...{ mounts, network },
    });
    const make = async (network = NONE) => {
      const spare = await world.provider.spares.make({ recipe: recipeOf(network) }, never());
      made.push(spare);
      return spare;
    };
    const adopt = async (spare: SpareSandbox, handId: string, recipe = recipeOf()) => {
      const request = { workspaceId: "wrkspc_test", handId, recipe };
      const sandbox = await spare.adopt(request, never());
      return sandbox && new Box(sandbox, () => world.provider.dispose(handId));
    };
    const launchOf = (hand: string) => {
      const record = findRecord(folderOf(hand));
      return record && "launch_id" in record ? record.launch_id : undefined;
    };

    test("are what a new hand's sandbox is, with all that such a one has", async () => {
      const spare = await make();
      const [spareId = ""] = spareIds();
      const launch = launchOf(spareId);
      expect(launch).toMatch(/^[0-9a-f]{32}$/);
      await using box = await adopted(adopt(spare, "hand_new"));
      expect(launchOf("hand_new")).toBe(launch);
      expect(spareIds()).toEqual([]);
      expect(await filesIn(box, "/workspace", "/mnt/session")).toEqual([]);
      const { output } = await box.sh(
        "pwd; id -un; echo kept >file; echo out >/mnt/session/outputs/one",
      );
      expect(output).toBe("/workspace\nsandbox\n");
      expect(box.sandbox.handId).toBe("hand_new");
      expect(box.sandbox.takeFacts()).toMatchObject({ provider: world.provider.names[0] });
      expect(box.sandbox.takeFacts()).toBeUndefined();
      expect(await filesIn(box, "/mnt/session/outputs")).toEqual(["/mnt/session/outputs/one"]);
      if (!capabilities.diskLimit)
        expect(existsSync(join(folderOf("hand_new"), "workspace/file"))).toBe(true);
      await box.sandbox.close();
      expect(launchOf("hand_new")).toBeUndefined();
      const next = await startOn(world.another(), { hand: "hand_new" });
      expect((await next.sh("cat file /mnt/session/outputs/one")).output).toBe("kept\nout\n");
      await next.sandbox.close();
    });

    test("show a hand's files once they are its own, and what comes to them later", async () => {
      const one = await world.mount("/mnt/session/uploads/a/one", "first");
      const two = await world.mount("/mnt/session/uploads/two", "second");
      await using box = await adopted(adopt(await make(), "hand_files", recipeOf(NONE, [one])));
      expect((await box.sh("cat /mnt/session/uploads/a/one")).output).toBe("first");
      await box.sandbox.showFiles(recipeOf(NONE, [two]));
      expect((await box.sh("cat /mnt/session/uploads/two")).output).toBe("second");
      expect(await filesIn(box, "/mnt/session/uploads")).toEqual(["/mnt/session/uploads/two"]);
    });

    test("are limited as others are", async ({ skip }) => {
      if (!capabilities.memoryLimit && !capabilities.diskLimit) skip();
      if (capabilities.memoryLimit) {
        await using box = await adopted(adopt(await make(), "hand_hungry"));
        // Where the sandbox is one process to the machine, it ends as a whole.
        const told = hits(box, HOG).then(
          ({ hits: [hit] }) => hit,
          (error: unknown) => String(error),
        );
        expect(await told).toContain("killed: memory limit 128 MB");
      }
      if (!capabilities.diskLimit) return;
      await using box = await adopted(adopt(await make(), "hand_limited"));
      expect(await hits(box, FILL)).toEqual({ exitCode: 1, hits: [FULL] });
      // Those of the tests before may be let go of only now.
      await expect.poll(() => world.used().attached, LET_GO).toBe(1);
      await box.sandbox.close();
      await expect.poll(() => world.used(), LET_GO).toEqual({ attached: 0, mounted: 0 });
    });

    test("have the network of the hand that they become, and none before", async () => {
      const spare = await make({ type: "limited", hosts: [] });
      const network: SandboxNetwork = { type: "limited", hosts: ["api.test"] };
      await using box = await adopted(adopt(spare, "hand_network", recipeOf(network)));
      const ask = (host: string) => `curl -sS -m 10 http://${host}/`;
      expect((await box.sh(ask("api.test"))).output).toBe("hello");
      expect((await box.sh(ask("other.test"))).output).not.toContain("hello");
      const judged = box.sandbox.takeEgress().map(({ host, verdict }) => [host, verdict]);
      expect(judged).toContainEqual(["api.test", "allowed"]);
      expect(judged).toContainEqual(["other.test", "refused"]);
      const lone = await make({ type: "limited", hosts: [] });
      await lone.close();
    });

    test("are for hands that are new, and for nobody else", async () => {
      await using old = await startOn(world.provider, { hand: "hand_old" });
      await old.sh("echo mine >file");
      await old.sandbox.close();
      const spare = await make();
      expect(world.provider.spares.isNew("hand_old")).toBe(false);
      expect(await adopt(spare, "hand_old")).toBeUndefined();
      const outfit = { layers: {}, variables: { OTHER: "1" } };
      const request = { workspaceId: "w", handId: "hand_fresh", recipe: recipeOf() };
      expect(await spare.adopt({ ...request, outfit }, never())).toBeUndefined();
      expect(existsSync(folderOf("hand_fresh"))).toBe(false);
      await using box = await startOn(world.provider, { hand: "hand_old" });
      expect((await box.sh("cat file")).output).toBe("mine\n");
      // It was refused, and is as good as before.
      await using fresh = await adopted(adopt(spare, "hand_fresh"));
      expect(await filesIn(fresh, "/workspace")).toEqual([]);
    });

    test("have kernel users of their own, also once they are hands'", async ({ skip }) => {
      if (capabilities.mode !== "root") skip();
      const [one, two] = [await make(), await make()];
      await using first = await adopted(adopt(one, "hand_first"));
      await using second = await adopted(adopt(two, "hand_second"));
      await using third = await startOn(world.provider, { hand: "hand_third" });
      const owners = ["hand_first", "hand_second", "hand_third"].map(
        (hand) => lstatSync(join(folderOf(hand), "workspace")).uid,
      );
      expect(new Set(owners).size).toBe(3);
      for (const box of [first, second, third])
        expect((await box.sh("echo x >f")).exitCode).toBe(0);
    });

    test("that died or were ended become nobody's, and leave nothing", async () => {
      const [ended, dead] = [await make(), await make()];
      const ids = spareIds();
      const group = ids.flatMap((id) => {
        const record = findRecord(folderOf(id));
        return record && "launch_id" in record ? (record.groups ?? []) : [];
      });
      await ended.close();
      expect(await adopt(ended, "hand_none")).toBeUndefined();
      const left = spareIds();
      expect(left).toHaveLength(1);
      kill(findRecord(folderOf(left[0] ?? "")));
      expect(await dead.closed).toMatch(/\w/);
      expect(await adopt(dead, "hand_none")).toBeUndefined();
      await dead.close();
      expect(existsSync(folderOf("hand_none"))).toBe(false);
      expect(group.filter((folder) => existsSync(folder))).toEqual([]);
      await expect.poll(() => world.used().attached, LET_GO).toBe(0);
    });

    test("are left alone by what ends the sandboxes of the dead", async () => {
      const spare = await make();
      await world.provider.reap();
      await using box = await adopted(adopt(spare, "hand_alive"));
      await world.provider.reap();
      expect((await box.sh("echo alive")).output).toBe("alive\n");
    });

    test.each(deaths)(
      "leave nothing that is not a hand's after a death at %s (%i, %s)",
      async (point, nth, how) => {
        const owner = startOwner(world, {
          script: DYING,
          args: [point, String(nth), how],
          options: { limits: SPARE_LIMITS },
        });
        expect(await endedBy(owner)).toBe("SIGKILL");
        const launches = readdirSync(join(world.folder, "hands")).flatMap((id) => {
          const record = findRecord(folderOf(id));
          return record ? [record] : [];
        });
        expect(launches.length > 0).toBe(how === "adopted");
        await world.another().reap();
        expect(spareIds()).toEqual([]);
        expect(launches.filter(isAlive)).toEqual([]);
        await using box = await startOn(world.provider, { hand: "hand_dying" });
        expect(await filesIn(box, "/workspace", "/mnt/session")).toEqual([]);
        expect((await box.sh("echo on >file; cat file")).output).toBe("on\n");
        await box.sandbox.close();
        await expect.poll(() => world.used(), LET_GO).toEqual({ attached: 0, mounted: 0 });
      },
    );
  });
}

async function adopted(box: Promise<Box | undefined>): Promise<Box> {
  const found = await box;
  if (found === undefined) throw new Error("the spare was not adopted");
  return found;
}

/** All but directories. */
async function filesIn({ sandbox }: Box, ...folders: readonly string[]): Promise<string[]> {
  const listed = await Promise.all(folders.map((folder) => sandbox.list(folder, 100)));
  return listed.flat().map(({ path }) => path);
}

type Recorded = ReturnType<typeof findRecord>;

function kill(record: Recorded): void {
  if (record && "pid" in record) process.kill(record.pid, "SIGKILL");
}

function isAlive(record: Recorded): boolean {
  if (!(record && "pid" in record)) return false;
  const file = `/proc/${record.pid}/stat`;
  const stat = existsSync(file) ? readFileSync(file, "latin1") : "";
  return stat !== "" && !stat.includes(") Z ") && stat.includes(` ${record.start_time} `);
}

function never(): AbortSignal {
  return new AbortController().signal;
}
