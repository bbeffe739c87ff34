import type { Page, PageQuery } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { Store } from "../core/ports/store.ts";
import { getSessionRecord, type Wire } from "./sessions-wire.ts";

/** What is mounted into the session. One page holds all of it: creation bounds how much that is. */
export async function listResources(
  store: Store,
  { key, query }: { key: SessionKey; query: PageQuery },
): Promise<Page<Wire>> {
  const { resources } = await getSessionRecord(store.sessions, key);
  if (query.page !== undefined) throw new InvalidRequestError("page: not a cursor of this list");
  return { data: [...resources], next_page: null };
}

export async function getResource(
  store: Store,
  { key, resourceId }: { key: SessionKey; resourceId: string },
): Promise<Wire> {
  const { resources } = await getSessionRecord(store.sessions, key);
  const resource = resources.find((each) => each["id"] === resourceId);
  if (resource !== undefined) return resource;
  throw new NotFoundError(`session ${key.sessionId} has no resource ${resourceId}`);
}
