import { ConflictError } from "../errors.ts";
import { calledTool, isToolUse } from "../session/called-tool.ts";
import type { LogEvent } from "../session/log-event.ts";
import { isMcpToolName } from "../tools/mcp-names.ts";
import { isWebTool } from "../tools/web-tools.ts";

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

/** True for a call that is carried out in the sandbox, and may change what is there. */
export function isSandboxTool(name: string): boolean {
  return !isWebTool(name) && !isMcpToolName(name);
}

/** What a log says of the workspace, and the calls in it that have nothing to do with it. */
export interface WorkspaceTrace {
  readonly at: WorkspaceAt;
  readonly otherCalls: ReadonlySet<string>;
}

export const UNTOUCHED: WorkspaceTrace = { at: { type: "untouched" }, otherCalls: new Set() };

/** The same one event later. */
export function traceAfter(before: WorkspaceTrace, event: LogEvent): WorkspaceTrace {
  if (isToolUse(event) && !isSandboxTool(calledTool(event))) {
    return { ...before, otherCalls: new Set([...before.otherCalls, event.id]) };
  }
  if (event.type !== "drover.call_started") return before;
  const { call_id } = event.private;
  if (!before.otherCalls.has(call_id)) return { ...before, at: { type: "gone" } };
  // A call is sent once.
  return { ...before, otherCalls: new Set([...before.otherCalls].filter((id) => id !== call_id)) };
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
