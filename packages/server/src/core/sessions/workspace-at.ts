/** What is known of the files of a session's sandbox at some place of its log. */
export type WorkspaceAt =
  /** No call was ever sent to it: there is nothing that a new sandbox would lack. */
  | { readonly type: "untouched" }
  /** Calls were sent, and how they left its files is kept nowhere. */
  | { readonly type: "gone" };

/** Told to the model of a session that goes on without the files it may believe to have. */
export const EMPTY_WORKSPACE_NOTE =
  "[This session continues from a copy of an earlier conversation, in a new sandbox. Files that earlier tool calls created or changed, and programs they started or installed, are not here; files mounted under /mnt/session/uploads are.]";
