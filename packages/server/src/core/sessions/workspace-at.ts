import { ConflictError } from "../errors.ts";
import type { LogEvent } from "../session/log-event.ts";

/** What is known of the files of a session's sandbox at some place of its log. */
export type WorkspaceAt =
  /** No call was ever sent to one: there is nothing that a new sandbox would lack. */
  | { readonly type: "untouched" }
  /** Calls that are in the log were another sandbox's; this one is as its recipe makes it. */
  | { readonly type: "begun" }
  /** It is as it is now: no call was sent since. */
  | { readonly type: "present" }
  /** Calls were sent, and how they left its files is kept nowhere. */
  | { readonly type: "gone" };

/** Told to the model of a session that goes on without the files it may believe to have. */
const EMPTY_WORKSPACE_NOTE =
  "[This session continues from a copy of an earlier conversation, in a new sandbox. Files that earlier tool calls created or changed, and programs they started or installed, are not here; files mounted under /mnt/session/uploads are.]";

/** What the event says of the workspace, given what those before it say. */
export function workspaceAfter(before: WorkspaceAt, event: LogEvent): WorkspaceAt {
  return event.type === "drover.call_started" ? { type: "gone" } : before;
}

/**
 * What the model is told of its new sandbox; null if it lacks nothing. Rejects with `ConflictError` if
 * files are gone and `wanted` does not say that the session may go on without them.
 */
export function workspaceNote(workspace: WorkspaceAt, wanted: "empty" | undefined): string | null {
  if (workspace.type === "untouched") return null;
  if (wanted === "empty") return EMPTY_WORKSPACE_NOTE;
  if (workspace.type === "begun" || workspace.type === "present") return null;
  throw checkpointGone(
    "the session's sandbox was used, and its files as they were then are not kept",
  );
}

/** Says why the files of a sandbox cannot be had, and what can be done. */
export function checkpointGone(why: string): ConflictError {
  return new ConflictError(
    `${why}: fork at the newest event of a session at rest, or where the sandbox was not used yet, or ask for workspace "empty" to go on without the files`,
    { code: "checkpoint_gone" },
  );
}
