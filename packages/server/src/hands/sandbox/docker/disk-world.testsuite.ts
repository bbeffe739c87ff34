import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { type DiskWorld, TESTED_DISK } from "../../../core/ports/sandbox-disk.testsuite.ts";
import { installationId } from "../../protocol/hands-file.ts";
import { makeTemplate } from "../disk/disk-template.ts";
import { NOBODY } from "../disk/sandbox-disks.ts";
import { diskWorld } from "../local/disk-world.testsuite.ts";
import type { LocalProviderOptions } from "../local/local-provider.ts";
import { recordLaunch, saveRecord } from "../local/process-record.ts";
import { DockerProvider } from "./docker-provider.ts";
import { openDockerWorld } from "./test-world.ts";

const SCRIPT = join(import.meta.dirname, "../../agent/engine-disk.pl");

export interface EngineDiskWorld extends DiskWorld {
  /** Leaves what stays when a process that launches the hand's sandbox is killed with all its children. */
  leaveMounted(hand: string): Promise<void>;
}

/** An installation whose sandboxes are containers with little room. */
export async function openEngineDiskWorld(
  { socketPath }: { readonly socketPath: string },
  name: "docker" | "gvisor",
): Promise<EngineDiskWorld> {
  const world = await openDockerWorld({ socketPath }, name, TESTED_DISK);
  const installation = () => installationId(world.folder);
  const provide = (options: LocalProviderOptions) =>
    new DockerProvider({ ...options, name, socketPath, installation });
  return {
    ...diskWorld({ world, provide }),
    async leaveMounted(hand) {
      const folder = join(world.folder, "hands", hand);
      const stage = join(folder, "stage");
      mkdirSync(stage, { recursive: true });
      saveRecord(folder, { ...recordLaunch(), provider: name, mount: stage });
      const image = join(folder, "disk.ext4");
      closeSync(openSync(image, "a", 0o600));
      const template = join(world.folder, "sandbox-base", name, "disk-template-1.ext4");
      await makeTemplate(template, TESTED_DISK.diskBytes);
      const mounter = spawn(
        "/usr/bin/perl",
        [
          ...[SCRIPT, "--engine", socketPath, "--stage", stage, "--disk", image],
          ...["--template", template, "--uid", String(NOBODY)],
        ],
        { stdio: ["pipe", "pipe", "inherit"] },
      );
      const ended = new Promise((resolve) => mounter.once("exit", resolve));
      const isMounted = await Promise.race([
        new Promise((resolve) => mounter.stdout.once("data", () => resolve(true))),
        ended,
      ]);
      if (isMounted !== true) throw new Error(`nothing was mounted: exit status ${isMounted}`);
      mounter.kill("SIGKILL");
      await ended;
    },
  };
}
