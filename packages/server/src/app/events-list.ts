import type { EventListQuery, Page } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import type { EventRange, SessionKey } from "../core/ports/event-log.ts";
import type { Store } from "../core/ports/store.ts";
import type { EventType, InboxEvent, LogEvent } from "../core/session/log-event.ts";
import { toWire, type WireEvent } from "../core/session/wire.ts";
import { isListedType } from "./events-types.ts";
import {
  assertWithin,
  type CreatedAt,
  type Cursors,
  createdAtOf,
  type Order,
} from "./pagination.ts";
import { getSessionRecord } from "./sessions-wire.ts";
import { assertThread } from "./threads.ts";

/** Clients that resume read whole histories. */
const LIMIT_DEFAULT = 1_000;

export interface EventListRequest {
  readonly key: SessionKey;
  /** Set for a thread's own list. */
  readonly threadId?: string | undefined;
  readonly query: EventListQuery;
}

/** How far a listing has come: behind an event of the log, or into the waiting input. */
interface Place {
  /** The last event of the log that was given out; undefined before the first. */
  readonly seq: number | undefined;
  /** The last waiting event that was given out. */
  readonly arrival: number | undefined;
}

interface Listing {
  readonly range: Omit<EventRange, "limit">;
  readonly order: Order;
  readonly limit: number;
  readonly place: Place;
  /** What waits, filtered, in the order of the list and behind the place. */
  readonly waiting: readonly InboxEvent[];
}

interface Slice {
  readonly events: readonly (LogEvent | InboxEvent)[];
  /** Undefined at the end. */
  readonly next: Place | undefined;
}

/**
 * The log by `seq`, then the waiting input in order of arrival; the reverse for `desc`. Under bounds on
 * `created_at`, which compare with `processed_at`, waiting input is left out.
 */
export async function listEvents(
  { store, cursors }: { store: Store; cursors: Cursors },
  { key, threadId, query }: EventListRequest,
): Promise<Page<WireEvent>> {
  const session = await getSessionRecord(store.sessions, key);
  if (threadId !== undefined) assertThread(session, threadId);
  const order = query.order ?? "asc";
  const list = `${key.sessionId}/${threadId ?? ""}/events`;
  const scope = { workspaceId: key.workspaceId, list, order };
  const place = query.page === undefined ? undefined : placeOf(cursors.open(scope, query.page));
  const read = (part: EventRange) => store.events.getEvents(key, part);
  if (place !== undefined) await assertPlaceWithin(read, place, createdAtOf(query));
  const range = await rangeOf(store, { key, threadId, query });
  const listing = {
    range: { ...range, order },
    order,
    limit: query.limit ?? LIMIT_DEFAULT,
    place: place ?? { seq: undefined, arrival: undefined },
    // Read before the log: what is taken up in between is then in the log as well, not in neither.
    waiting: await waitingInput(store, { key, threadId, query }, { order, place }),
  };
  const slice = order === "asc" ? await ascending(listing, read) : await descending(listing, read);
  const next =
    slice.next && cursors.seal(scope, { direction: "after", position: positionOf(slice.next) });
  return { data: slice.events.map(toWire), next_page: next ?? null };
}

type Read = (range: EventRange) => Promise<readonly LogEvent[]>;

/** Rejects a cursor that the bounds leave out; one among waiting input, which has no time, always. */
async function assertPlaceWithin(
  read: Read,
  { seq, arrival }: Place,
  createdAt: CreatedAt,
): Promise<void> {
  if (Object.keys(createdAt).length === 0) return;
  const isInLog = seq !== undefined && arrival === undefined;
  const [event] = isInLog ? await read({ after: seq - 1, limit: 1 }) : [];
  assertWithin(event?.processed_at, createdAt);
}

async function ascending(listing: Listing, read: Read): Promise<Slice> {
  const { range, limit, place, waiting } = listing;
  const after = Math.max(place.seq ?? 0, range.after ?? 0);
  const log = await read({ ...range, after, limit });
  const seq = log.at(-1)?.seq ?? after;
  const hasMore = log.length > 0 && (await read({ ...range, after: seq, limit: 1 })).length > 0;
  if (hasMore) return { events: log, next: { seq, arrival: undefined } };
  const rest = withoutTaken(waiting, log);
  const shown = rest.slice(0, limit - log.length);
  const events = [...log, ...shown];
  if (shown.length === rest.length) return { events, next: undefined };
  return { events, next: { seq, arrival: shown.at(-1)?.arrival ?? place.arrival } };
}

async function descending(listing: Listing, read: Read): Promise<Slice> {
  const { range, limit, place, waiting } = listing;
  // One more than fits tells whether the log has to be read at all.
  const fits = waiting.length < limit;
  const before = Math.min(place.seq ?? Infinity, range.before ?? Infinity);
  const bound = Number.isFinite(before) ? { before } : {};
  const log = fits ? await read({ ...range, ...bound, limit: limit - waiting.length }) : [];
  const shown = withoutTaken(waiting, log).slice(0, limit);
  const events = [...shown, ...log];
  const last = log.at(-1);
  if (last === undefined) {
    const arrival = shown.at(-1)?.arrival;
    return { events, next: fits || arrival === undefined ? undefined : { ...place, arrival } };
  }
  const hasMore = (await read({ ...range, before: last.seq, limit: 1 })).length > 0;
  return { events, next: hasMore ? { seq: last.seq, arrival: undefined } : undefined };
}

function withoutTaken(
  waiting: readonly InboxEvent[],
  log: readonly LogEvent[],
): readonly InboxEvent[] {
  if (waiting.length === 0) return waiting;
  const taken = new Set(log.map((event) => event.id));
  return waiting.filter((event) => !taken.has(event.id));
}

async function waitingInput(
  store: Store,
  { key, threadId, query }: EventListRequest,
  { order, place }: { order: Order; place: Place | undefined },
): Promise<readonly InboxEvent[]> {
  const isInLog = place?.seq !== undefined && place.arrival === undefined && order === "desc";
  const isBounded = Object.keys(createdAtOf(query)).length > 0 || query.before !== undefined;
  if (isInLog || isBounded) return [];
  const waiting = (await store.events.getInbox(key)).filter(
    (event) =>
      (threadId === undefined || event.thread_id === threadId) &&
      (query.types?.includes(event.type) ?? true) &&
      isBehind(event.arrival, place?.arrival, order),
  );
  return order === "asc" ? waiting : waiting.toReversed();
}

function isBehind(arrival: number, place: number | undefined, order: Order): boolean {
  if (place === undefined) return true;
  return order === "asc" ? arrival > place : arrival < place;
}

async function rangeOf(
  store: Store,
  { key, threadId, query }: EventListRequest,
): Promise<Omit<EventRange, "limit">> {
  const processedAt = createdAtOf(query);
  return {
    visible: true,
    ...(threadId !== undefined && { threadId }),
    ...(query.types !== undefined && { types: typesOf(query.types) }),
    ...(Object.keys(processedAt).length > 0 && { processedAt }),
    ...(query.after !== undefined && { after: await seqOf(store, key, "after", query.after) }),
    ...(query.before !== undefined && { before: await seqOf(store, key, "before", query.before) }),
  };
}

function typesOf(types: readonly string[]): readonly EventType[] {
  const known: EventType[] = [];
  for (const type of types) {
    if (!isListedType(type)) throw new InvalidRequestError(`types: unknown event type ${type}`);
    known.push(type);
  }
  return known;
}

async function seqOf(
  store: Store,
  key: SessionKey,
  name: "after" | "before",
  eventId: string,
): Promise<number> {
  const seq = await store.events.findSeq(key, eventId);
  if (seq !== undefined) return seq;
  throw new InvalidRequestError(`${name}: the session has no processed event ${eventId}`);
}

function positionOf({ seq, arrival }: Place): string[] {
  return [seq === undefined ? "" : String(seq), arrival === undefined ? "" : String(arrival)];
}

function placeOf({ position }: { position: readonly string[] }): Place {
  const [seq = "", arrival = ""] = position;
  return {
    seq: seq === "" ? undefined : Number(seq),
    arrival: arrival === "" ? undefined : Number(arrival),
  };
}
