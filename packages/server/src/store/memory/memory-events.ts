import { LeaseLostError } from "../../core/errors.ts";
import type {
  AppendRequest,
  EventRange,
  EventReader,
  EventWriter,
  SessionKey,
} from "../../core/ports/event-log.ts";
import type { EventDraft, InboxEvent, LogEvent } from "../../core/session/log-event.ts";
import { asInboxEvent, asLogEvent } from "../event-row.ts";
import {
  compareText,
  isWithin,
  type MemorySource,
  type MemoryTransaction,
  type SessionState,
  type SizedEvent,
  stored,
} from "./memory-data.ts";
import { liveSession, putSession } from "./memory-sessions.ts";

/** A slice ends once its bodies come to so many bytes. */
const SLICE_BYTES = 16 * 1024 * 1024;

export function memoryEventReader(source: MemorySource): EventReader {
  return {
    getEvents: async (key, range) => {
      const state = (await source()).sessions.get(key.workspaceId, key.sessionId);
      return state === undefined ? [] : sliceOf(state, range);
    },
    findSeq: async (key, eventId) => {
      const state = (await source()).sessions.get(key.workspaceId, key.sessionId);
      return state?.events.find(({ event }) => event.id === eventId)?.event.seq;
    },
    getInbox: async (key) =>
      (await source()).sessions.get(key.workspaceId, key.sessionId)?.inbox ?? [],
  };
}

export function memoryEventWriter(tx: MemoryTransaction): EventWriter & EventReader {
  return {
    ...memoryEventReader(async () => tx.data()),
    append: async (request) => append(tx, request),
    appendReceipts: async (key, drafts) => appendReceipts(tx, key, drafts),
    accept: async (key, drafts) => accept(tx, key, drafts),
  };
}

function append(tx: MemoryTransaction, request: AppendRequest): readonly LogEvent[] {
  const { sessionId, epoch, drafts, status, totals, checkpoint } = request;
  const state = liveSession(tx, request);
  if (state === undefined || state.epoch !== epoch || state.lease_holder === null) {
    throw new LeaseLostError(sessionId, epoch);
  }
  const isShown = status !== undefined || totals !== undefined;
  const { next, events } = extend(tx, state, { drafts, epoch });
  putSession(tx, {
    ...next,
    status: status ?? state.status,
    totals: totals === undefined ? state.totals : stored(totals),
    updated_at: isShown ? tx.now : state.updated_at,
    claims: 0,
    checkpoint: checkpoint === undefined ? state.checkpoint : stored(checkpoint),
  });
  tx.touched.add(request, { lastSeq: next.last_seq, due: false });
  return events;
}

function appendReceipts(
  tx: MemoryTransaction,
  key: SessionKey,
  drafts: readonly EventDraft[],
): readonly LogEvent[] {
  const state = liveSession(tx, key);
  if (state === undefined) throw new Error(`there is no session ${key.sessionId} to append to`);
  const isInput = drafts.some(({ type }) => type.startsWith("user."));
  const { next, events } = extend(tx, state, { drafts, epoch: 0 });
  putSession(tx, {
    ...next,
    wake_at: dueBy(state, tx.now),
    input_seq: isInput ? state.last_seq : state.input_seq,
    input_at: isInput ? tx.now : state.input_at,
  });
  tx.touched.add(key, { lastSeq: next.last_seq, due: true });
  return events;
}

function accept(
  tx: MemoryTransaction,
  key: SessionKey,
  drafts: Parameters<EventWriter["accept"]>[1],
): readonly InboxEvent[] {
  const state = liveSession(tx, key);
  if (state === undefined) throw new Error(`there is no session ${key.sessionId} to take input`);
  const accepted = drafts.map((draft, index) =>
    stored(asInboxEvent(draft, { arrival: state.last_arrival + index + 1, accepted_at: tx.now })),
  );
  const ids = new Set(state.inbox.map(({ id }) => id));
  for (const { id } of accepted) {
    if (ids.has(id)) throw new Error(`event ${id} waits in the inbox already`);
    ids.add(id);
  }
  putSession(tx, {
    ...state,
    inbox: [...state.inbox, ...accepted],
    last_arrival: state.last_arrival + drafts.length,
    input_seq: state.last_seq,
    input_at: tx.now,
    wake_at: dueBy(state, tx.now),
  });
  tx.touched.add(key, { lastSeq: state.last_seq, due: true });
  return accepted;
}

/** `wake_at` of a session that is due at once: what was due before stays first in the queue. */
export function dueBy({ wake_at: wakeAt }: SessionState, now: string): string {
  return wakeAt !== null && wakeAt < now ? wakeAt : now;
}

function extend(
  tx: MemoryTransaction,
  state: SessionState,
  { drafts, epoch }: { drafts: readonly EventDraft[]; epoch: number },
): { readonly next: SessionState; readonly events: readonly LogEvent[] } {
  const { eventIds, journal } = tx.data();
  const isBehind = compareText(tx.now, state.last_processed_at) < 0;
  const processedAt = isBehind ? state.last_processed_at : tx.now;
  const { length } = state.events;
  journal.record(() => {
    state.events.length = length;
  });
  const events = drafts.map((draft, index) => {
    const seq = state.last_seq + index + 1;
    const event = stored(asLogEvent(draft, { seq, processed_at: processedAt, epoch }));
    eventIds.insert(seq, state.workspace_id, event.id);
    const size = Buffer.byteLength(JSON.stringify(event.public) + JSON.stringify(event.private));
    state.events.push({ event, size });
    return event;
  });
  const committed = new Set(drafts.map(({ id }) => id));
  const next = {
    ...state,
    inbox: state.inbox.filter(({ id }) => !committed.has(id)),
    last_seq: state.last_seq + drafts.length,
    last_processed_at: processedAt,
  };
  return { next, events };
}

function sliceOf(state: SessionState, range: EventRange): readonly LogEvent[] {
  const matching = state.events.filter(({ event }) => isInRange(state, event, range));
  if (range.order === "desc") matching.reverse();
  return withinBytes(matching.slice(0, range.limit));
}

function withinBytes(events: readonly SizedEvent[]): readonly LogEvent[] {
  let before = 0;
  const slice: LogEvent[] = [];
  for (const { event, size } of events) {
    if (before >= SLICE_BYTES) break;
    before += size;
    slice.push(event);
  }
  return slice;
}

function isInRange(state: SessionState, event: LogEvent, range: EventRange): boolean {
  const { after, before, types, threadId, visible, processedAt } = range;
  return (
    event.seq > (after ?? 0) &&
    event.seq < (before ?? Number.POSITIVE_INFINITY) &&
    (types === undefined || types.includes(event.type)) &&
    (threadId === undefined || event.thread_id === threadId) &&
    (visible !== true || isVisible(state, event)) &&
    isWithin(event.processed_at, processedAt)
  );
}

function isVisible(state: SessionState, event: LogEvent): boolean {
  const isShown = event.thread_id === state.thread_id || event.cross_posted;
  return isShown && !event.type.startsWith("drover.");
}
