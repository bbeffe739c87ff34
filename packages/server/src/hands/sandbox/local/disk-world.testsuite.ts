import { execFileSync } from "node:child_process";
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
import { type DiskWorld, TESTED_DISK } from "../../../core/ports/sandbox-disk.testsuite.ts";
import type { ProviderWorld } from "./installation-world.ts";
import type { LocalProvider, LocalProviderOptions } from "./local-provider.ts";
import { endedBy, heard, startOwner } from "./owner-process.testsuite.ts";

export interface DiskWorldOptions {
  readonly world: ProviderWorld;
  /** A further provider on the world's data. */
  readonly provide: (options: LocalProviderOptions) => LocalProvider;
}

/**
 * A process that owns a sandbox which writes without pause, or dies while it makes one: at a point, or when
 * the host shows a mount below the data folder.
 */
const OWNER = `
const { readFileSync } = await import("node:fs");
const [handId, point] = args;
const stage = dataFolder + "/hands/" + handId + "/stage";
const look = () => {
  if (readFileSync("/proc/self/mountinfo", "utf8").includes(stage)) process.kill(process.pid, "SIGKILL");
};
if (point === "mounted") setInterval(look, 1);
else if (point) armFailPoint({ name: point, nth: 1 });
const sandbox = await provider.provision({ workspaceId: "w", handId, recipe }, signal);
if (point) process.exit(1);
const command = "(setsid sh -c 'while :; do echo . >>/workspace/beat; done' &); while :; do date >>/workspace/log; done";
sandbox.exec({ command, timeoutMs: 600000 }, () => {}, signal).catch(() => {});
while (!(await sandbox.stat("/workspace/beat"))) await new Promise((resolve) => setTimeout(resolve, 5));
console.log("writing");
`;

/** The checksum of what describes the first group of blocks. */
const CHECKSUM_AT = 4096 + 30;

/** An installation whose sandboxes have little room. */
export function diskWorld({ world, provide }: DiskWorldOptions): DiskWorld {
  const options = { dataFolder: world.folder, blobPath: () => "" };
  const imageOf = (hand: string) => join(world.folder, "hands", hand, "disk.ext4");
  const start = (...args: string[]) =>
    startOwner(world, { script: OWNER, args, options: { limits: TESTED_DISK } });
  return {
    ...world,
    mustLimit: process.getuid?.() === 0 && existsSync("/dev/loop-control"),
    strict: () => provide({ ...options, limits: TESTED_DISK, enforce: "required" }),
    unlimited: () => provide(options),
    used: () => ({
      attached: backingFiles().filter((file) => file.startsWith(world.folder)).length,
      mounted: readFileSync("/proc/self/mountinfo", "utf8").split(world.folder).length - 1,
    }),
    kept: (hand) => lstatSync(imageOf(hand)).blocks * 512,
    async killWriter(hand) {
      const child = start(hand);
      await heard(child);
      child.kill("SIGKILL");
    },
    async killMaker(hand, when) {
      const child = start(hand, when === "mounted" ? when : "hands.provision.after_disk");
      const signal = await endedBy(child);
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
