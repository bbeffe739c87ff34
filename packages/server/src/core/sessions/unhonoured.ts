import type { SessionErrorObject, SessionResource } from "@drover/api";

/** It ends no turn, and the session goes on without. */
const retry_status = { type: "retrying" } as const;

/**
 * What a session has and this version does nothing with, as the errors that its log shows for it: what
 * is accepted and not honoured is visible, and never silent.
 */
export function unhonouredParts(
  resources: readonly SessionResource[],
  vaultIds: readonly string[],
): readonly SessionErrorObject[] {
  const vaults = vaultIds.map((id) => ({
    type: "unknown_error" as const,
    message: `This version does not use vaults: no tool and no sandbox gets a credential of ${id}.`,
    retry_status,
  }));
  return [...resources.flatMap(unhonouredResource), ...vaults];
}

function unhonouredResource(resource: SessionResource): readonly SessionErrorObject[] {
  switch (resource.type) {
    case "memory_store": {
      const { memory_store_id: id, mount_path } = resource;
      const message = `This version does not mount memory stores: the agent has no ${mount_path} with the memories of ${id}.`;
      return [{ type: "unknown_error", message, retry_status }];
    }
    default:
      return [];
  }
}
