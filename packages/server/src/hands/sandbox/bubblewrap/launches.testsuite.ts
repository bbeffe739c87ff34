import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import { ownerOf } from "../local/host-uids.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "./test-world.ts";

const PROVIDER = pathToFileURL(join(import.meta.dirname, "bubblewrap-provider.ts")).href;
const BWRAP = "/usr/bin/bwrap";
const KILLS = 8;
const LAUNCHES_A_KILL = 5;
/** A launch takes 40 ms on an idle machine; five at once on two busy cores take this. */
const KILL_WITHIN_MS = 150;

/** A process that launches sandboxes: its options, and the hands as further arguments. */
const OWNER = `
const { BubblewrapProvider } = await import(${JSON.stringify(PROVIDER)});
const [options, ...hands] = process.argv.slice(1);
const guard = { destinations: async () => ({ type: "refused", message: "nothing" }) };
const provider = new BubblewrapProvider({ ...JSON.parse(options), blobPath: () => "", egress: { guard } });
await provider.reap();
const { signal } = new AbortController();
const recipe = { provider: "bubblewrap", base: { type: "host" }, mounts: [] };
const networks = [{ type: "unrestricted" }, { type: "none" }];
const launch = (handId, index) =>
  provider.provision({ workspaceId: "w", handId, recipe: { ...recipe, network: networks[index % 2] } }, signal);
console.log("launching");
hands.forEach(launch);
setInterval(() => undefined, 1000);
`;

/** What holds when a sandbox is given up, or its owner killed, while it is being made. */
export function testLaunches(mode: string): void {
  describe(`launches that are cut short (${mode})`, () => {
    let world: BubblewrapWorld;
    let bwrap: SlowBwrap;
    /** A limit that no other sandbox of this machine has, so that its processes can be told. */
    const fileBytes = 2 ** 40 + Math.floor(Math.random() * 2 ** 40);
    beforeAll(async () => {
      world = await openBubblewrapWorld();
      bwrap = makeSlowBwrap();
    });
    afterAll(async () => {
      rmSync(bwrap.folder, { recursive: true });
      await world[Symbol.asyncDispose]();
    });

    function slowProvider(): BubblewrapProvider {
      const options = { bwrapPath: bwrap.path, limits: { fileBytes } };
      return new BubblewrapProvider({ dataFolder: world.folder, blobPath: () => "", ...options });
    }

    async function startOwner(options: object, hands: readonly string[]): Promise<ChildProcess> {
      const json = JSON.stringify({ dataFolder: world.folder, limits: { fileBytes }, ...options });
      const node = [
        "--conditions=drover-source",
        "--input-type=module",
        "-e",
        OWNER,
        json,
        ...hands,
      ];
      const owner = spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void owner.kill("SIGKILL"));
      await new Promise((resolve, reject) => {
        owner.stdout.once("data", resolve);
        owner.once("exit", () => reject(new Error("the owner ended early")));
      });
      return owner;
    }

    /** bubblewrap and its child, once there are both. */
    async function halfMade(): Promise<{ outer: number; inner: number }> {
      for (;;) {
        const present = processesOf(fileBytes).filter(({ command }) => command.startsWith(BWRAP));
        const inner = present.find(({ ppid }) => present.some(({ pid }) => pid === ppid));
        if (inner) return { outer: inner.ppid, inner: inner.pid };
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }

    function remains(): Process[] {
      const hands = readdirSync(join(world.folder, "hands"));
      const owners = hands.map((hand) => ownerOf(join(world.folder, "hands", hand, "workspace")));
      const uids = new Set(owners.filter((uid) => uid !== undefined));
      return processesOf(fileBytes, uids).filter(({ command }) => !command.includes("launch.pl"));
    }

    /** One that was only just started when its owner was killed sees that itself. */
    async function launchersGone(): Promise<void> {
      while (processesOf(fileBytes).length > 0) {
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }

    test("leave nothing when they are given up", async () => {
      const giveUp = new AbortController();
      const making = startOn(slowProvider(), { hand: "hand_given_up", signal: giveUp.signal });
      making.catch(() => undefined);
      await halfMade();
      giveUp.abort();
      await expect(making).rejects.toThrow("given up");
      expect(processesOf(fileBytes)).toEqual([]);
      expect(records(world)).toEqual([]);
    });

    test("leave nothing when bubblewrap is killed", async () => {
      const making = startOn(slowProvider(), { hand: "hand_unfinished" });
      making.catch(() => undefined);
      process.kill((await halfMade()).outer, "SIGKILL");
      await expect(making).rejects.toThrow("could not make a sandbox: SIGKILL");
      expect(processesOf(fileBytes)).toEqual([]);
      expect(records(world)).toEqual([]);
    });

    test.each([
      ["reaping", () => world.another().reap()],
      ["disposing of the hand", () => world.another().dispose("hand_orphaned")],
      [
        "making the hand's next sandbox",
        async () => (await startOn(world.another(), { hand: "hand_orphaned" })).sandbox.close(),
      ],
    ])("leave nothing of a killed owner after %s", async (_, clean) => {
      const owner = await startOwner({ bwrapPath: bwrap.path }, ["hand_orphaned"]);
      const { inner } = await halfMade();
      await killed(owner);
      // What makes the test one: nobody else ends it.
      expect(processesOf(fileBytes).map(({ pid }) => pid)).toContain(inner);
      await clean();
      expect(remains()).toEqual([]);
      expect(records(world)).toEqual([]);
    });

    test("leave nothing after reaping, whenever the owner is killed", {
      timeout: 60_000,
    }, async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const hands = Array.from({ length: LAUNCHES_A_KILL }, (_, n) => `hand_${kill}_${n}`);
        const owner = await startOwner({}, hands);
        // The moment is what is tested.
        const ms = (Math.random() + kill) * (KILL_WITHIN_MS / KILLS);
        await new Promise((resolve) => setTimeout(resolve, ms));
        await killed(owner);
        await world.another().reap();
        expect(remains()).toEqual([]);
        await launchersGone();
        expect(records(world)).toEqual([]);
      }
    });
  });
}

function records(world: BubblewrapWorld): string[] {
  const files = readdirSync(join(world.folder, "hands"), { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith("sandbox.json"));
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

interface SlowBwrap {
  readonly folder: string;
  readonly path: string;
}

/**
 * The real one, which stops for ever where it stays for microseconds: when it has a child that waits for
 * it, and is about to say so.
 */
function makeSlowBwrap(): SlowBwrap {
  const folder = mkdtempSync(join(tmpdir(), "drover-slow-bwrap-"));
  chmodSync(folder, 0o755);
  const path = join(folder, "bwrap");
  const pipe = join(folder, "status");
  execFileSync("/usr/bin/mkfifo", [pipe]);
  chmodSync(pipe, 0o666);
  // Its status goes to a pipe that is full.
  const script = `#!/bin/sh
exec 5<>${pipe}
dd if=/dev/zero of=${pipe} oflag=nonblock bs=4096 count=1024 2>/dev/null
exec ${BWRAP} "$@"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return { folder, path };
}

interface Process {
  readonly pid: number;
  readonly ppid: number;
  readonly command: string;
}

/** Living processes with the number as an argument after the agent, or of one of the users. */
function processesOf(argument: number, uids: ReadonlySet<number> = new Set()): Process[] {
  return readdirSync("/proc")
    .map(Number)
    .filter(Number.isInteger)
    .flatMap((pid) => {
      const status = readIfThere(`/proc/${pid}/status`);
      const command = readIfThere(`/proc/${pid}/cmdline`);
      if (/^State:\t[ZX]/m.test(status)) return [];
      const isNamed = new RegExp(`/agent\\.pl\0.*\0${argument}\0`, "s").test(command);
      if (!isNamed && !uids.has(numberOf(status, "Uid"))) return [];
      return [{ pid, ppid: numberOf(status, "PPid"), command }];
    });
}

function numberOf(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\t(\\d+)`, "m").exec(status)?.[1]);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
