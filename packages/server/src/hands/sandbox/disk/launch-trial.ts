import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { diskOptions, type HandDisk, NOBODY } from "./sandbox-disks.ts";

const run = promisify(execFile);
const TRIAL_MS = 30_000;

export interface TrialLauncher {
  readonly perlPath: string;
  /** The script `launch.pl`, absolute. */
  readonly script: string;
}

/** Mounts a disk as the launcher of bubblewrap does, and writes to it as a sandbox's user. */
export async function tryLaunch(
  { perlPath, script }: TrialLauncher,
  disk: HandDisk,
  stage: string,
): Promise<void> {
  await run(
    perlPath,
    [
      ...[script, "--parent", String(process.pid), "--uid", String(NOBODY)],
      ...["--stage", stage, "--cover", "/mnt", ...diskOptions(disk, ["workspace"])],
      ...["--", "/bin/sh", "-c", "echo written >/mnt/disk/workspace/file"],
    ],
    { env: {}, cwd: "/", timeout: TRIAL_MS },
  );
}
