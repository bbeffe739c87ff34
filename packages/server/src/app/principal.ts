import type { Actor, KeyRole } from "@drover/api";

/** Who makes a request, as its key tells. */
export interface Principal {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly role: KeyRole;
}

/** Makes an id such as `agent_8fJ…` from its prefix; never the same twice. */
export type NewId = (prefix: string) => string;

/** The principal as a record of what it did names it. */
export function actorOf({ keyId }: Principal): Actor {
  return { type: "api_actor", api_key_id: keyId };
}
