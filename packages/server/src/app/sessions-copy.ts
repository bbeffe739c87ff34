import { NotFoundError } from "../core/errors.ts";
import type { Drafting } from "../core/harness/drafting.ts";
import { type CutLog, isIdleSaidAfter } from "../core/harness/fork.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Checkpoint, SessionKey } from "../core/ports/event-log.ts";
import type { NewSession } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import { fold } from "../core/session/fold.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { FOLD_VERSION, NEW_SESSION } from "../core/session/state.ts";
import { traceAfter, UNTOUCHED, type WorkspaceTrace } from "../core/sessions/workspace-at.ts";
import { newId } from "../lib/new-id.ts";

/** Events read at a time; a page of large ones ends at 16 MB. */
const PAGE_EVENTS = 1_000;
/** Events written in one transaction: others wait for it. */
const STEP_EVENTS = 100;
const DISCARD_EVENTS = 2_000;

type CopyStore = Pick<Store, "write" | "writeUnsynced" | "events">;

export interface CopiedLog extends CutLog {
  /** The highest epoch in it. */
  readonly epoch: number;
  /** When its last event was processed; null for an empty one. */
  readonly until: string | null;
  readonly workspace: WorkspaceTrace;
}

export const EMPTY_LOG: CopiedLog = {
  state: NEW_SESSION,
  epoch: 0,
  until: null,
  workspace: UNTOUCHED,
  isIdleSaid: true,
};

/**
 * Makes a session in steps, in place of one with this id that is half made, and discards it unless `make` finished it, however it ended. What a process
 * that dies leaves behind goes with `collectCopies`.
 */
export async function withCopy<T>(
  store: CopyStore,
  session: NewSession,
  make: () => Promise<T>,
): Promise<T> {
  const key = { workspaceId: session.workspace_id, sessionId: session.id };
  // One that is half made was left by a process that died, or by a client that tries again.
  await discard(store, key);
  await store.write((tx) => tx.copies.begin(session));
  try {
    return await make();
  } finally {
    // Its failure must not hide the other one, and the collector comes by later.
    await discard(store, key).catch(() => undefined);
  }
}

/** Copies the log of `from` up to `seq` to `to`, each event as `transplant` gives it. */
export async function copyLog(
  store: CopyStore,
  { from, to, seq }: { from: SessionKey; to: SessionKey; seq: number },
  transplant: (event: LogEvent) => LogEvent,
): Promise<CopiedLog> {
  let log = EMPTY_LOG;
  for (let after = 0; after < seq; ) {
    const range = { after, before: seq + 1, limit: PAGE_EVENTS };
    const page = await store.events.getEvents(from, range);
    const last = page.at(-1);
    if (last === undefined) throw new NotFoundError(`there is no session ${from.sessionId}`);
    for (let at = 0; at < page.length; at += STEP_EVENTS) {
      log = await addEvents(store, to, page.slice(at, at + STEP_EVENTS).map(transplant), log);
    }
    after = last.seq;
  }
  return log;
}

/** Writes some events of a copy, and says what its log comes to with them. */
export async function addEvents(
  store: CopyStore,
  key: SessionKey,
  events: readonly LogEvent[],
  log: CopiedLog = EMPTY_LOG,
): Promise<CopiedLog> {
  // The last step is synced, and nothing before it can be lost then.
  await store.writeUnsynced((tx) => tx.copies.add(key, events));
  const first = log.state.seq + 1;
  return {
    state: fold(
      events.map((event, index) => ({ ...event, seq: first + index })),
      log.state,
    ),
    epoch: events.reduce((highest, { epoch }) => Math.max(highest, epoch), log.epoch),
    until: events.at(-1)?.processed_at ?? log.until,
    isIdleSaid: events.reduce(isIdleSaidAfter, log.isIdleSaid),
    workspace: events.reduce(traceAfter, log.workspace),
  };
}

/** What the next wake goes on from. */
export function checkpointOf({ state }: CopiedLog): Checkpoint {
  return { fold: FOLD_VERSION, seq: state.seq, state: JSON.stringify(state) };
}

/** Longer than any step of a copy takes: what was not touched for so long, nobody makes any more. */
const ABANDONED_MS = 10 * 60_000;
const LOOK_MS = 60_000;
const BATCH = 16;

/**
 * Takes away what processes that died left half made, until the signal is aborted. Rejects if the store
 * fails; may be called again.
 */
export async function collectCopies(
  { store, clock }: { store: CopyStore; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const before = new Date(clock.now() - ABANDONED_MS).toISOString();
    const abandoned = await store.write((tx) => tx.copies.listAbandoned(before, BATCH));
    for (const key of abandoned) if (!signal.aborted) await discard(store, key);
    if (abandoned.length < BATCH) await clock.sleepUntil(clock.now() + LOOK_MS, signal);
  }
}

/** What closes the log of a copy. `now` is RFC 3339. */
export function draftingOf(
  { thread_id, agent }: NewSession,
  prices: PriceList,
  now: string,
): Drafting {
  return {
    threadId: thread_id,
    agentName: agent.name,
    model: agent.model,
    prices,
    usageOf: () => undefined,
    now,
    newId: () => newId("sevt"),
  };
}

async function discard(store: CopyStore, key: SessionKey): Promise<void> {
  while (!(await store.write((tx) => tx.copies.discard(key, DISCARD_EVENTS)))) {
    // Piece by piece, so that others come in between.
  }
}
