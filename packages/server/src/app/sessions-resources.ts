import type {
  FileResourceParams,
  Page,
  PageQuery,
  SessionResourceDeleted,
  SessionResourceUpdateParams,
} from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { assertDistinctPaths } from "../core/sessions/mount-paths.ts";
import { tokenBinding } from "../core/sessions/token-binding.ts";
import { newId } from "../lib/new-id.ts";
import { Secret } from "../lib/secret.ts";
import { keyOf } from "./input.ts";
import { type Cursors, readPage } from "./pagination.ts";
import { mountFile } from "./sessions-mounts.ts";
import { existing, getSessionRecord, type Wire } from "./sessions-wire.ts";

/** Files that a session may have at a time. */
const FILES_MAX = 500;

export interface ResourceRequest {
  readonly key: SessionKey;
  /** Of a memory store, which has no id of its own here, the store's. */
  readonly resourceId: string;
}

/** What is mounted into the session, the oldest first; what came together, by id. */
export async function listResources(
  { store, cursors }: { store: Store; cursors: Cursors },
  { key, query }: { key: SessionKey; query: PageQuery },
): Promise<Page<Wire>> {
  const session = await getSessionRecord(store.sessions, key);
  const rows = session.resources
    .map((resource) => ({
      id: idOf(resource),
      created_at: String(resource["created_at"] ?? session.created_at),
      resource,
    }))
    .toSorted((left, right) => (placeOf(left) < placeOf(right) ? -1 : 1));
  const { workspaceId, sessionId } = key;
  const { data, next_page } = await readPage({
    cursors,
    scope: { workspaceId, list: `${sessionId}/resources`, order: "asc" },
    query,
    read: async ({ after, limit }) =>
      rows.filter((row) => after === undefined || placeOf(row) > placeOf(after)).slice(0, limit),
    present: ({ resource }) => resource,
  });
  return { data, next_page };
}

export async function getResource(
  store: Store,
  { key, resourceId }: ResourceRequest,
): Promise<Wire> {
  return findResource(await getSessionRecord(store.sessions, key), resourceId);
}

/** Mounts one more file: from the next call on it is in the session's sandbox, also in one that runs. */
export async function addResource(
  tx: StoreTransaction,
  key: SessionKey,
  params: FileResourceParams,
): Promise<Wire> {
  const session = await lockOpen(tx, key);
  const count = session.resources.filter(({ type }) => type === "file").length;
  if (count >= FILES_MAX) {
    throw new InvalidRequestError(`the session has ${count} files; at most ${FILES_MAX} may be`);
  }
  const resourceId = newId("sesrsc");
  const { resource, mount } = await mountFile(tx, key, { params, resourceId, place: "" });
  const resources = [...session.resources, { ...resource }];
  const paths = resources.map((each: Wire) => String(each["mount_path"]));
  assertDistinctPaths(paths, "mount_path");
  await tx.sessions.update(key, {
    resources,
    recipe: { ...session.recipe, mounts: [...session.recipe.mounts, mount] },
    updated_at: tx.now,
  });
  await tellDriver(tx, session);
  return { ...resource };
}

/** Gives a repository a new token; nothing else of a resource can change. */
export async function updateResource(
  tx: StoreTransaction,
  { key, resourceId }: ResourceRequest,
  {
    params,
    secretBox,
  }: { params: SessionResourceUpdateParams; secretBox: Pick<SecretBox, "seal"> },
): Promise<Wire> {
  const session = await lockOpen(tx, key);
  const resource = findResource(session, resourceId);
  if (resource["type"] !== "github_repository") {
    throw new InvalidRequestError(
      `authorization_token: resource ${resourceId} is a ${resource["type"]}; only a github_repository has a token`,
    );
  }
  const token = new Secret(params.authorization_token);
  const sealed = secretBox.seal(token, tokenBinding(key, resourceId));
  await tx.sessions.putRepositoryToken(key, resourceId, sealed);
  const updated = { ...resource, updated_at: tx.now };
  await tx.sessions.update(key, {
    resources: session.resources.map((each) => (each === resource ? updated : each)),
    updated_at: tx.now,
  });
  return updated;
}

/** Takes a file out of the session, with the session's copy of it. Nothing else can be taken out. */
export async function deleteResource(
  tx: StoreTransaction,
  { key, resourceId }: ResourceRequest,
): Promise<SessionResourceDeleted> {
  const session = await lockOpen(tx, key);
  const resource = findResource(session, resourceId);
  if (resource["type"] !== "file") {
    throw new InvalidRequestError(
      `resource ${resourceId} is a ${resource["type"]}, which stays for the life of its session`,
    );
  }
  await detach(tx, session, resource);
  await tx.files.delete(key.workspaceId, String(resource["file_id"]));
  return { id: resourceId, type: "session_resource_deleted" };
}

/**
 * Takes the resource out of the session whose copy of a file is deleted, in whatever state the session is:
 * what is deleted is not to stay anywhere.
 */
export async function detachFile(
  tx: StoreTransaction,
  key: SessionKey,
  fileId: string,
): Promise<void> {
  const session = await tx.sessions.lock(key);
  const resource = session?.resources.find((each) => each["file_id"] === fileId);
  if (session !== undefined && resource !== undefined) await detach(tx, session, resource);
}

async function detach(tx: StoreTransaction, session: SessionRecord, resource: Wire): Promise<void> {
  const { recipe } = session;
  await tx.sessions.update(keyOf(session), {
    resources: session.resources.filter((each) => each !== resource),
    recipe: {
      ...recipe,
      mounts: recipe.mounts.filter((mount) => mount.mount_path !== resource["mount_path"]),
    },
    updated_at: tx.now,
  });
  await tellDriver(tx, session);
}

/** A turn that runs looks at the session again, and tells the model. */
async function tellDriver(tx: StoreTransaction, session: SessionRecord): Promise<void> {
  if (session.status === "running") await tx.queue.wake(keyOf(session));
}

async function lockOpen(tx: StoreTransaction, key: SessionKey): Promise<SessionRecord> {
  const session = existing(await tx.sessions.lock(key), key);
  if (session.status === "terminated") {
    throw new InvalidRequestError(
      `session ${session.id} is ${session.archived_at === null ? "terminated" : "archived"}, and its resources cannot be changed`,
    );
  }
  return session;
}

function findResource(session: SessionRecord, resourceId: string): Wire {
  const resource = session.resources.find((each) => idOf(each) === resourceId);
  if (resource !== undefined) return resource;
  throw new NotFoundError(`session ${session.id} has no resource ${resourceId}`);
}

function idOf(resource: Wire): string {
  return String(resource["id"] ?? resource["memory_store_id"]);
}

/** Compares as (created_at, id) does: times of one length come first. */
function placeOf({ created_at, id }: { created_at: string; id: string }): string {
  return `${created_at} ${id}`;
}
