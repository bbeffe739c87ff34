import { ConflictError, OverloadedError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SecretCarrier } from "../core/ports/secret-carrier.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { tokenBinding } from "../core/sessions/token-binding.ts";
import { newId } from "../lib/new-id.ts";

export interface Carried {
  readonly resources: SessionRecord["resources"];
  /** Sealed for their new places, by the new resource's id. */
  readonly tokens: ReadonlyMap<string, string>;
}

/** A token of a repository, for another session. */
interface MovedToken {
  /** As it was sealed before. */
  readonly before: string;
  /** Of the repository in the other session. */
  readonly id: string;
  readonly sealed: string;
}

/** By the resources that have them now. */
export type MovedTokens = ReadonlyMap<string, MovedToken>;

/**
 * Has the tokens of a session's repositories sealed for another session, which is not to be done here. Rejects with
 * `OverloadedError` where nobody can do it now.
 */
export async function moveTokens(
  { sessions, carrier }: { sessions: Store["sessions"]; carrier: SecretCarrier },
  source: SessionRecord,
  key: SessionKey,
): Promise<MovedTokens> {
  const from = { workspaceId: source.workspace_id, sessionId: source.id };
  const found: { resource: string; before: string; id: string }[] = [];
  for (const { id: resource } of source.resources) {
    if (typeof resource !== "string") continue;
    const before = await sessions.findRepositoryToken(from, resource);
    if (before !== undefined) found.push({ resource, before, id: newId("sesrsc") });
  }
  if (found.length === 0) return new Map();
  const moves = found.map(({ resource, before, id }) => ({
    ...{ sealed: before, from: tokenBinding(from, resource), to: tokenBinding(key, id) },
  }));
  const outcome = await carrier.carry(moves, new AbortController().signal);
  if (outcome.type === "unavailable") {
    throw new OverloadedError(
      `the tokens of the session's repositories cannot be copied now: ${outcome.message}`,
    );
  }
  return new Map(
    found.map(({ resource, before, id }, index) => {
      const sealed = outcome.sealed[index];
      if (sealed === undefined) throw new Error(`the token of ${resource} was not carried`);
      return [resource, { before, id, sealed }];
    }),
  );
}

/**
 * What a session has mounted, for another one made from it: files as copies of its own with the same
 * content, repositories with their tokens, memory stores as they are. Rejects with `ConflictError` if a
 * token was changed since it was moved.
 */
export async function carriedResources(
  tx: StoreTransaction,
  { source, key, moved }: { source: SessionRecord; key: SessionKey; moved: MovedTokens },
): Promise<Carried> {
  const from = { workspaceId: source.workspace_id, sessionId: source.id };
  const tokens = new Map<string, string>();
  const resources: Readonly<Record<string, unknown>>[] = [];
  for (const resource of source.resources) {
    if (typeof resource["id"] !== "string") {
      resources.push(resource);
      continue;
    }
    const token = moved.get(resource["id"]);
    const id = token?.id ?? newId("sesrsc");
    const times = { created_at: tx.now, updated_at: tx.now };
    const file = await carriedFile(tx, resource, key);
    resources.push({ ...resource, ...file, id, ...times });
    const sealed = await tx.sessions.findRepositoryToken(from, resource["id"]);
    if (sealed !== token?.before) {
      throw new ConflictError("a token of the session was changed meanwhile: try again");
    }
    if (token !== undefined) tokens.set(id, token.sealed);
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
