import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FileMount, WorkspaceCheckpoint } from "../../core/ports/hands.ts";
import { type Sandbox, SandboxUnavailableError } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";

const RESTORE_MS = 120_000;

/**
 * Begins anew, because an earlier attempt may have been killed in the middle; then unpacks, and waits until
 * it is on disk. Members outside of the two folders have no place to go: all else is read-only.
 */
const RESTORE = `set -e
find /workspace /mnt/session/outputs -mindepth 1 -delete
tar --extract --file "$1" --directory / --no-same-owner --no-overwrite-dir
sync -f /workspace`;

/** Where the archive is shown, beside the user's files. */
export function checkpointMount({ sha256, size_bytes }: WorkspaceCheckpoint): FileMount {
  const mount_path = `/mnt/session/uploads/.checkpoint-${sha256}.tar`;
  return { type: "file", mount_path, sha256, size_bytes };
}

/**
 * Fills a hand's folders from its recipe's checkpoint, once, before any call: a note beside them, where no
 * sandbox can write, tells that it was done. The archive is unpacked inside the sandbox; whoever made it can
 * do no more there than by a call. Rejects with `SandboxUnavailableError`.
 */
export async function restoreCheckpoint(
  sandbox: Sandbox,
  { handFolder, checkpoint }: { handFolder: string; checkpoint: WorkspaceCheckpoint },
  signal: AbortSignal,
): Promise<void> {
  const note = join(handFolder, "restored");
  if (existsSync(note)) return;
  const { mount_path } = checkpointMount(checkpoint);
  const unpacking = sandbox.run(
    {
      argv: ["/bin/sh", "-c", RESTORE, "sh", mount_path],
      timeoutMs: RESTORE_MS,
      stdoutBytesMax: 1024,
    },
    signal,
  );
  failPoint("hands.restore.while_unpacking");
  const { ended, exitCode, stderr } = await unpacking;
  if (ended !== "exited" || exitCode !== 0) {
    const said = Buffer.from(stderr).toString("utf8").slice(0, 300).replaceAll(/\s+/g, " ").trim();
    throw new SandboxUnavailableError(
      `the files of the earlier sandbox cannot be unpacked: ${said}`,
    );
  }
  failPoint("hands.restore.before_note");
  writeFileSync(note, checkpoint.sha256, { mode: 0o600 });
}
