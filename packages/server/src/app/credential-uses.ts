import {
  type CredentialUse,
  type CredentialUseListQuery,
  idPrefixes,
  type Page,
} from "@drover/api";
import type { CredentialUseRecord } from "../core/ports/credential-uses.ts";
import type { Store } from "../core/ports/store.ts";
import { type Cursors, readForwardPage } from "./pagination.ts";

/** Who used which credential of the workspace for whom, the oldest first. */
export async function listCredentialUses(
  { store, cursors }: { readonly store: Pick<Store, "credentialUses">; readonly cursors: Cursors },
  workspaceId: string,
  query: CredentialUseListQuery,
): Promise<Page<CredentialUse>> {
  const { session_id: sessionId, credential_id: credentialId } = query;
  const filter = {
    ...(sessionId !== undefined && { sessionId }),
    ...(credentialId !== undefined && { credentialId }),
  };
  return await readForwardPage({
    cursors,
    scope: { workspaceId, list: idPrefixes.credentialUse, order: "asc" },
    query,
    read: async (limit, position) => {
      const [created_at, id] = position ?? [];
      const after =
        created_at === undefined || id === undefined ? {} : { after: { created_at, id } };
      return await store.credentialUses.list(workspaceId, filter, {
        limit,
        order: "asc",
        ...after,
      });
    },
    positionOf: ({ first_at, id }) => [first_at, id],
    present: toUse,
  });
}

function toUse({ workspace_id: _, ...record }: CredentialUseRecord): CredentialUse {
  return {
    ...record,
    type: "credential_use",
    session_id: record.session_id === "" ? null : record.session_id,
    reason: record.reason === "" ? null : record.reason,
  };
}
