import type { Sandbox } from "../../core/ports/sandbox.ts";
import type { ClonedTree } from "./clone-repository.ts";
import { ARCHIVE_PATH } from "./clone-script.ts";

const PLACE_MS = 5 * 60_000;
const CHUNK_BYTES = 4 * 1024 * 1024;
/** On disk, kept with the hand, and no part of its files. */
const NOTES_FOLDER = "/mnt/session/.spill/repositories";

/**
 * Unpacks beside the place and moves it there whole, so that nobody ever meets half of it. Members outside
 * of the folder have no place to go: tar takes no such names, and all else is read-only.
 */
const PLACE = `set -e -o pipefail
parts=$1 staging=$2 target=$3
rm -rf -- "$staging"
mkdir -p -- "$staging" "$(dirname -- "$target")"
cat -- "$parts"/* | tar --extract --file - --directory "$staging" --no-same-owner
sync -f "$staging"
mv --no-target-directory -- "$staging" "$target"`;

const CLEAN = `rm -rf -- "$1" "$2"`;

export interface TreePlace {
  /** Of the session's resource. */
  readonly resource_id: string;
  readonly mount_path: string;
}

/** A tree could not be put into its session's sandbox. */
export class PlaceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PlaceError";
  }
}

/** Whether the repository was put there once, or something else lies in its place. */
export async function isPlaced(
  sandbox: Sandbox,
  { resource_id, mount_path }: TreePlace,
): Promise<boolean> {
  if ((await sandbox.stat(notePath(resource_id))) !== undefined) return true;
  const there = await sandbox.stat(mount_path);
  if (there === undefined) return false;
  return there.type !== "directory" || (await sandbox.list(mount_path, 1)).length > 0;
}

/** Moves a cloned tree into the sandbox of its session, a part at a time. */
export async function placeTree(
  tree: ClonedTree,
  sandbox: Sandbox,
  place: TreePlace,
  signal: AbortSignal,
): Promise<void> {
  const parts = `${NOTES_FOLDER}/${place.resource_id}.parts`;
  const staging = `/workspace/.${place.resource_id}.cloning`;
  try {
    await clean(sandbox, parts, staging);
    await copyParts(tree, sandbox, parts, signal);
    const argv = ["/bin/bash", "-c", PLACE, "place", parts, staging, place.mount_path];
    const { ended, exitCode, stderr } = await sandbox.run(
      { argv, timeoutMs: PLACE_MS, stdoutBytesMax: 1_024 },
      signal,
    );
    signal.throwIfAborted();
    if (ended === "timeout") throw new PlaceError("unpacking it takes too long");
    if (ended !== "exited" || exitCode !== 0) {
      const said = Buffer.from(stderr).toString("utf8").replaceAll(/\s+/g, " ").trim();
      throw new PlaceError(`it could not be unpacked: ${said.slice(0, 200)}`);
    }
    await sandbox.write(notePath(place.resource_id), Buffer.from(`${tree.commit ?? ""}\n`));
  } finally {
    await clean(sandbox, parts, staging);
  }
}

async function copyParts(
  { sandbox: from, size_bytes }: ClonedTree,
  to: Sandbox,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  for (let offset = 0, part = 0; offset < size_bytes; part += 1) {
    signal.throwIfAborted();
    const limit = Math.min(CHUNK_BYTES, size_bytes - offset);
    const { bytes } = await from.read(ARCHIVE_PATH, { offset, limit }).catch(() => {
      throw new PlaceError("the sandbox that it was cloned in has died");
    });
    // What the inside answers is not trusted: an empty or oversized answer would never end.
    if (bytes.byteLength === 0 || bytes.byteLength > limit) {
      throw new PlaceError("it changed while it was moved");
    }
    await to.write(`${folder}/${String(part).padStart(6, "0")}`, bytes);
    offset += bytes.byteLength;
  }
}

async function clean(sandbox: Sandbox, parts: string, staging: string): Promise<void> {
  await sandbox.run(
    {
      argv: ["/bin/sh", "-c", CLEAN, "clean", parts, staging],
      timeoutMs: PLACE_MS,
      stdoutBytesMax: 1_024,
    },
    new AbortController().signal,
  );
}

function notePath(resourceId: string): string {
  return `${NOTES_FOLDER}/${resourceId}`;
}
