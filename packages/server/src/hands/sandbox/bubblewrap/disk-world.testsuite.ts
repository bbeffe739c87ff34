import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type DiskWorld, TESTED_DISK } from "../../../core/ports/sandbox-disk.testsuite.ts";
import { BubblewrapProvider } from "./bubblewrap-provider.ts";
import { openBubblewrapWorld } from "./test-world.ts";

const PROVIDER = pathToFileURL(join(import.meta.dirname, "bubblewrap-provider.ts")).href;
const FAIL_POINTS = pathToFileURL(join(import.meta.dirname, "../../../lib/fail-point.ts")).href;

/** A process that owns a sandbox which writes without pause, or dies while it makes one. */
const OWNER = `
const { BubblewrapProvider } = await import(${JSON.stringify(PROVIDER)});
const { armFailPoint } = await import(${JSON.stringify(FAIL_POINTS)});
const [dataFolder, handId, point] = process.argv.slice(1);
const limits = ${JSON.stringify(TESTED_DISK)};
const provider = new BubblewrapProvider({ dataFolder, blobPath: () => "", limits });
if (point) armFailPoint({ name: point, nth: 1 });
const { signal } = new AbortController();
const recipe = { provider: "bubblewrap", base: { type: "host" }, mounts: [], network: { type: "none" } };
const sandbox = await provider.provision({ workspaceId: "w", handId, recipe }, signal);
const command = "(setsid sh -c 'while :; do echo . >>/workspace/beat; done' &); while :; do date >>/workspace/log; done";
sandbox.exec({ command, timeoutMs: 600000 }, () => {}, signal).catch(() => {});
while (!(await sandbox.stat("/workspace/beat"))) await new Promise((resolve) => setTimeout(resolve, 5));
console.log("writing");
`;

/** The checksum of what describes the first group of blocks. */
const CHECKSUM_AT = 4096 + 30;

/** An installation whose sandboxes have little room. */
export async function openDiskWorld(): Promise<DiskWorld> {
  const world = await openBubblewrapWorld(TESTED_DISK);
  const options = { dataFolder: world.folder, blobPath: () => "" };
  const imageOf = (hand: string) => join(world.folder, "hands", hand, "disk.ext4");
  const start = (...args: string[]) =>
    spawn(
      process.execPath,
      ["--conditions=source", "--input-type=module", "-e", OWNER, world.folder, ...args],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
  return {
    ...world,
    mustLimit: process.getuid?.() === 0 && existsSync("/dev/loop-control"),
    strict: () => new BubblewrapProvider({ ...options, limits: TESTED_DISK, enforce: "required" }),
    unlimited: () => new BubblewrapProvider(options),
    used: () => ({
      attached: backingFiles().filter((file) => file.startsWith(world.folder)).length,
      mounted: readFileSync("/proc/self/mountinfo", "utf8").split(world.folder).length - 1,
    }),
    kept: (hand) => lstatSync(imageOf(hand)).blocks * 512,
    async killWriter(hand) {
      const owner = start(hand);
      await new Promise((resolve, reject) => {
        owner.stdout.once("data", resolve);
        owner.once("exit", () => reject(new Error("the owner ended early")));
      });
      owner.kill("SIGKILL");
    },
    async killMaker(hand) {
      const owner = start(hand, "hands.provision.after_disk");
      const signal = await new Promise((resolve) => owner.once("exit", (_, by) => resolve(by)));
      if (signal !== "SIGKILL") throw new Error(`the maker ended by ${signal}`);
    },
    damage(hand, how) {
      if (how === "never made") return truncateSync(imageOf(hand), 0);
      if (how === "marked") {
        execFileSync("/usr/sbin/tune2fs", ["-E", "force_fsck", imageOf(hand)]);
        return;
      }
      const file = openSync(imageOf(hand), "r+");
      writeSync(file, Buffer.from([0, 0]), 0, 2, CHECKSUM_AT);
      closeSync(file);
    },
  };
}

/** Of all loop devices of this machine. */
function backingFiles(): string[] {
  return readdirSync("/sys/block")
    .filter((name) => name.startsWith("loop"))
    .flatMap((name) => {
      try {
        return [readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8").trim()];
      } catch {
        return [];
      }
    });
}
