import { requirements } from "../requirement.ts";

/** §6.8 and the filter of §6.1. */
export const eventsList = requirements({
  "events.list.types-filter": ["6.1", "types[] keeps the events of the given types."],
  "events.list.types-names": [
    "6.1",
    "types[] takes 41 names: all persisted types but session.deleted.",
  ],
  "events.list.types-unknown": [
    "6.1",
    "types[] refuses session.deleted, the types of previews and unknown names.",
  ],
  "events.list.ascending": ["6.8", "Events are listed by processed_at, oldest first by default."],
  "events.list.descending": ["6.8", "order=desc lists the newest first; order takes asc and desc."],
  "events.list.created-at": [
    "6.8",
    "created_at[gt], [gte], [lt] and [lte] compare with processed_at.",
  ],
  "events.list.created-at-form": ["6.8", "created_at takes RFC 3339 times only."],
  "events.list.total-order": [
    "6.8",
    "The order is total and stable: the same events come in the same order, also those of one moment.",
  ],
  "events.list.pages": [
    "1.7",
    "Pages of any size give each event once, also while some are added.",
  ],
  "events.list.limit": ["20.11", "limit goes up to 1,000; 0 and 1,001 are refused."],
  "events.list.cursor-order": [
    "1.7",
    "A cursor belongs to its order and its list: with another it is refused with 400.",
  ],
  "events.list.cursor-bounds": [
    "1.7",
    "A cursor that lies outside the bounds on created_at is refused with 400; one within goes on.",
  ],
  "events.list.cursor-filters": ["1.7", "limit and other filters may change between two pages."],
  "events.list.unknown-session": ["6.8", "The events of a session that is not there are 404."],
  "events.list.thread": ["6.8", "A thread's list gives the events of that thread."],
  "events.list.thread-parameters": [
    "6.8",
    "A thread's list takes limit and page only: filters and order are refused by name.",
  ],
  "events.list.thread-unknown": [
    "6.8",
    "The events of a thread that is not of the session are 404.",
  ],
  "events.list.no-previews": ["7", "event_start and event_delta never appear in the history."],
});
