import { LeaseLostError } from "../../core/errors.ts";
import type { SessionKey } from "../../core/ports/event-log.ts";
import type { SessionQueue } from "../../core/ports/sessions.ts";
import { compareText, type MemoryTransaction, type SessionState } from "./memory-data.ts";
import { dueBy } from "./memory-events.ts";
import { liveSession, putSession } from "./memory-sessions.ts";

export function memoryQueue(tx: MemoryTransaction): SessionQueue {
  return {
    claim: async ({ holder, leaseMs, limit }) => {
      const due = tx
        .data()
        .sessions.filter((state) => isClaimable(state, tx.now))
        .sort((a, b) => compareText(a.wake_at ?? "", b.wake_at ?? ""))
        .slice(0, limit);
      return due.map((state) => {
        const epoch = state.epoch + 1;
        const claims = state.claims + 1;
        const lease = {
          lease_holder: holder,
          lease_expires_at: leaseMs === null ? null : later(tx.now, leaseMs),
        };
        putSession(tx, { ...state, ...lease, epoch, claims, woken: false });
        return { ...keyOf(state), epoch, claims };
      });
    },
    renew: async ({ holder, leaseMs }) => {
      const held = tx.data().sessions.filter((state) => state.lease_holder === holder);
      for (const state of held) {
        putSession(tx, { ...state, lease_expires_at: later(tx.now, leaseMs) });
      }
      return held.map(keyOf);
    },
    release: async (request) => release(tx, request),
    wake: async (key) => {
      const state = liveSession(tx, key);
      if (state === undefined) return;
      putSession(tx, { ...state, woken: true, wake_at: dueBy(state, tx.now) });
      tx.touched.add(key, { lastSeq: state.last_seq, due: true });
    },
    takeOver: async (holder) => {
      const others = tx
        .data()
        .sessions.filter((state) => state.lease_holder !== null && state.lease_holder !== holder);
      for (const state of others) putSession(tx, { ...state, ...UNHELD });
    },
    nextDue: async () => {
      const waiting = tx
        .data()
        .sessions.filter((state) => state.lease_holder === null || state.lease_expires_at !== null)
        .flatMap((state) => dueTimeOf(state) ?? []);
      return waiting.sort(compareText)[0];
    },
  };
}

const UNHELD = { lease_holder: null, lease_expires_at: null };

function release(tx: MemoryTransaction, request: Parameters<SessionQueue["release"]>[0]): boolean {
  const { sessionId, epoch, seenSeq, wakeAt } = request;
  const state = liveSession(tx, request);
  if (state === undefined || state.epoch !== epoch || state.lease_holder === null) {
    throw new LeaseLostError(sessionId, epoch);
  }
  const hasNews = state.last_seq !== seenSeq || state.woken || state.inbox.length > 0;
  if (wakeAt === null && hasNews) {
    putSession(tx, { ...state, woken: false });
    return false;
  }
  const claims = wakeAt === null ? 0 : state.claims;
  putSession(tx, { ...state, ...UNHELD, claims, wake_at: wakeAt });
  if (wakeAt !== null && wakeAt <= tx.now) {
    tx.touched.add(request, { lastSeq: state.last_seq, due: true });
  }
  return true;
}

function isClaimable(state: SessionState, now: string): boolean {
  const isFree =
    state.lease_holder === null ||
    (state.lease_expires_at !== null && state.lease_expires_at <= now);
  return isFree && state.wake_at !== null && state.wake_at <= now;
}

/** A held session is due when its lease runs out. */
function dueTimeOf({ wake_at: wakeAt, lease_expires_at: expiresAt }: SessionState) {
  if (wakeAt === null || expiresAt === null) return wakeAt;
  return expiresAt > wakeAt ? expiresAt : wakeAt;
}

function keyOf(state: SessionState): SessionKey {
  return { workspaceId: state.workspace_id, sessionId: state.id };
}

function later(now: string, ms: number): string {
  return new Date(Date.parse(now) + ms).toISOString();
}
