import type { SessionErrorObject } from "@drover/api";

/** It ends no turn, and the session goes on without. */
const retry_status = { type: "retrying" } as const;

/**
 * What a session has and this version does nothing with, as the errors that its log shows for it: what
 * is accepted and not honoured is visible, and never silent.
 */
export function unhonouredParts(vaultIds: readonly string[]): readonly SessionErrorObject[] {
  return vaultIds.map((id) => ({
    type: "unknown_error",
    message: `This version does not use vaults: no tool and no sandbox gets a credential of ${id}.`,
    retry_status,
  }));
}
