import type { SessionKey } from "../core/ports/event-log.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { tokenBinding } from "../core/sessions/token-binding.ts";
import { newId } from "../lib/new-id.ts";

export interface Carried {
  readonly resources: SessionRecord["resources"];
  /** Sealed for their new places, by the new resource's id. */
  readonly tokens: ReadonlyMap<string, string>;
}

/**
 * What a session has mounted, for another one made from it: files as copies of its own with the same
 * content, repositories with their tokens, memory stores as they are.
 */
export async function carriedResources(
  tx: StoreTransaction,
  { source, key, secretBox }: { source: SessionRecord; key: SessionKey; secretBox: SecretBox },
): Promise<Carried> {
  const from = { workspaceId: source.workspace_id, sessionId: source.id };
  const tokens = new Map<string, string>();
  const resources: Readonly<Record<string, unknown>>[] = [];
  for (const resource of source.resources) {
    if (typeof resource["id"] !== "string") {
      resources.push(resource);
      continue;
    }
    const id = newId("sesrsc");
    const times = { created_at: tx.now, updated_at: tx.now };
    const file = await carriedFile(tx, resource, key);
    resources.push({ ...resource, ...file, id, ...times });
    const sealed = await tx.sessions.findRepositoryToken(from, resource["id"]);
    if (sealed === undefined) continue;
    const token = secretBox.open(sealed, tokenBinding(from, resource["id"]));
    tokens.set(id, secretBox.seal(token, tokenBinding(key, id)));
  }
  return { resources, tokens };
}

/** A copy that was deleted by itself leaves its content mounted, and the resource naming it. */
async function carriedFile(
  tx: StoreTransaction,
  resource: Readonly<Record<string, unknown>>,
  { workspaceId, sessionId }: SessionKey,
): Promise<{ file_id?: string }> {
  if (resource["type"] !== "file") return {};
  const file = await tx.files.find(workspaceId, String(resource["file_id"]));
  if (file === undefined) return {};
  const copy = { ...file, id: newId("file"), session_id: sessionId, created_at: tx.now };
  await tx.files.insert(copy);
  return { file_id: copy.id };
}
