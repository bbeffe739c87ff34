import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { HandCall, Recipe, WorkspaceCheckpoint } from "../../core/ports/hands.ts";
import { writeFileAtomically } from "../../lib/write-file-atomically.ts";
import { RecipeMessage } from "../protocol/messages.ts";

/** Calls that a note names; those that run together are far fewer. */
const CALLS_MAX = 64;

/** Within the hand's folder. */
export function notePath(handFolder: string): string {
  return join(handFolder, "files.json");
}

/**
 * What is known of a hand's files, beside them, where no sandbox can write. It goes when they go, so that
 * files without a note are never taken for another line's, nor a note for files.
 */
export interface HandNote {
  readonly workspace_id: string;
  /** See `HandFiles`. */
  readonly line: number;
  /** For a sandbox that only reads them. */
  readonly reader: Recipe;
  /** What they are still to be filled from; null once they are. */
  readonly from: WorkspaceCheckpoint | null;
  /** The last ones in their sandbox. */
  readonly call_ids: readonly string[];
  /** What is kept of them elsewhere since the last call, and committed; null if nothing is. */
  readonly kept: WorkspaceCheckpoint | null;
  /** True if its memory stores have what no call's result has had: then the files stay here until one has. */
  readonly holds_memory: boolean;
  /** Why they could not be kept, since the last call. */
  readonly problem: string | null;
}

const Ref = z.strictObject({ sha256: z.string(), size_bytes: z.number() });

const Note: z.ZodType<HandNote> = z.strictObject({
  workspace_id: z.string(),
  line: z.number(),
  reader: RecipeMessage,
  from: Ref.nullable(),
  call_ids: z.array(z.string()),
  kept: Ref.nullable(),
  // Notes from before this have none of it.
  holds_memory: z.boolean().default(false),
  problem: z.string().nullable(),
});

/** Undefined if there is none. Throws if it cannot be read: then nothing is known of the files. */
export function readNote(handFolder: string): HandNote | undefined {
  try {
    return Note.parse(JSON.parse(readFileSync(notePath(handFolder), "utf8")));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Survives the machine. */
export async function writeNote(handFolder: string, note: HandNote): Promise<void> {
  await writeFileAtomically(notePath(handFolder), JSON.stringify(note), { mode: 0o600 });
}

/**
 * Survives the process, and the machine mostly: for what is told again by the next call. Synchronous, for
 * it stands before every call, and a file of a kilobyte takes less than its turn in a thread.
 */
export function writeNoteUnsynced(handFolder: string, note: HandNote): void {
  const path = notePath(handFolder);
  const draft = `${path}.draft`;
  try {
    writeFileSync(draft, JSON.stringify(note), { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Files that begin with this call, or were there before there were notes. */
export function beginNote({ workspaceId, recipe, files }: HandCall): HandNote {
  const { provider, base } = recipe;
  const mounts = writableMemory(recipe);
  return {
    workspace_id: workspaceId,
    line: files?.line ?? 1,
    reader: { provider, base, mounts, network: { type: "none" } },
    from: files?.checkpoint ?? null,
    call_ids: [],
    kept: null,
    holds_memory: false,
    problem: null,
  };
}

/** All that a sandbox that reads files has to have beside them. */
function writableMemory({ mounts }: Recipe): Recipe["mounts"] {
  return mounts.filter((mount) => mount.type === "memory_store" && mount.access === "read_write");
}

export function withCall(note: HandNote, { callId, recipe }: HandCall): HandNote {
  const call_ids = [...note.call_ids, callId].slice(-CALLS_MAX);
  // The hand may have another session by now, with other stores.
  const reader = { ...note.reader, mounts: writableMemory(recipe) };
  return { ...note, reader, call_ids, kept: null, holds_memory: false, problem: null };
}
