import type { SessionKey } from "../../core/ports/event-log.ts";
import type {
  SessionListFilter,
  SessionReader,
  SessionRecord,
  SessionWriter,
  UndisposedHand,
} from "../../core/ports/sessions.ts";
import { emptyRecipe, forgottenAgent } from "../session-row.ts";
import {
  compareText,
  isWithin,
  type MemorySource,
  type MemoryTransaction,
  pageOf,
  type SessionState,
  stored,
} from "./memory-data.ts";
import { addLooseBlob } from "./memory-loose-blobs.ts";

export function memorySessionReader(source: MemorySource): SessionReader {
  return {
    find: async ({ workspaceId, sessionId }) => {
      const state = (await source()).sessions.get(workspaceId, sessionId);
      return state && recordOf(state);
    },
    list: async (workspaceId, filter, page) => {
      const { sessions } = await source();
      const found = sessions.filter(
        (state) =>
          state.workspace_id === workspaceId &&
          state.deleted_at === null &&
          isListed(state, filter),
      );
      return pageOf(found, page).map(recordOf);
    },
    findCheckpoint: async ({ workspaceId, sessionId }) =>
      (await source()).sessions.get(workspaceId, sessionId)?.checkpoint,
  };
}

export function memorySessionWriter(tx: MemoryTransaction): SessionWriter & SessionReader {
  const reader = memorySessionReader(async () => tx.data());
  return {
    ...reader,
    insert: async (session) => {
      const { workspace_id, id } = session;
      const state: SessionState = {
        ...stored({ ...session, updated_at: session.created_at }),
        ...{ archived_at: null, deleted_at: null, last_seq: 0, input_seq: null, input_at: null },
        ...{ last_processed_at: "", last_arrival: 0, wake_at: null, woken: false },
        ...{ lease_holder: null, lease_expires_at: null, epoch: 0, claims: 0 },
        ...{ hand_disposed: false, events: [], inbox: [], checkpoint: undefined },
      };
      tx.data().sessions.insert(state, workspace_id, id);
    },
    lock: reader.find,
    update: async (key, patch) => {
      const state = liveSession(tx, key);
      if (state === undefined) throw new Error(`there is no session ${key.sessionId} to update`);
      if (patch.recipe !== undefined) loosenMounts(tx, state);
      putSession(tx, { ...state, ...stored(patch) });
      tx.touched.add(key, { lastSeq: state.last_seq, due: false });
    },
    delete: async (key) => {
      const state = liveSession(tx, key);
      if (state === undefined) return;
      for (const { event } of state.events) tx.data().eventIds.delete(key.workspaceId, event.id);
      loosenMounts(tx, state);
      putSession(tx, tombstone(state, tx.now));
      tx.touched.add(key, { lastSeq: state.last_seq, due: false });
    },
    listUndisposed: async ({ limit, after }) =>
      tx
        .data()
        .sessions.filter((state) => state.deleted_at !== null && !state.hand_disposed)
        .map(undisposedHandOf)
        .filter((hand) => after === undefined || compareHands(hand, after) > 0)
        .sort(compareHands)
        .slice(0, limit),
    setDisposed: async ({ workspaceId, sessionId }) => {
      const state = tx.data().sessions.get(workspaceId, sessionId);
      if (state === undefined || state.deleted_at === null) return;
      putSession(tx, { ...state, hand_disposed: true });
    },
    attachStream: async (key, withinMs) => {
      const state = liveSession(tx, key);
      if (state === undefined || state.input_seq === null) return undefined;
      putSession(tx, { ...state, input_seq: null });
      const isRecent = Date.parse(state.input_at ?? "") + withinMs >= Date.parse(tx.now);
      return isRecent ? state.input_seq : undefined;
    },
  };
}

/** The session's row, if it is there and not deleted. */
export function liveSession(tx: MemoryTransaction, key: SessionKey): SessionState | undefined {
  const state = tx.data().sessions.get(key.workspaceId, key.sessionId);
  return state?.deleted_at === null ? state : undefined;
}

export function putSession(tx: MemoryTransaction, state: SessionState): void {
  tx.data().sessions.set(state, state.workspace_id, state.id);
}

function loosenMounts(tx: MemoryTransaction, state: SessionState): void {
  for (const { sha256 } of state.recipe.mounts) addLooseBlob(tx, state.workspace_id, sha256);
}

function undisposedHandOf(state: SessionState): UndisposedHand {
  return {
    workspaceId: state.workspace_id,
    sessionId: state.id,
    handId: state.hand_id,
    deletedAt: state.deleted_at ?? "",
  };
}

function compareHands(a: UndisposedHand, b: UndisposedHand): number {
  return compareText(a.deletedAt, b.deletedAt) || compareText(a.sessionId, b.sessionId);
}

function tombstone(state: SessionState, now: string): SessionState {
  return {
    ...state,
    ...{ title: null, metadata: {}, resources: [], vault_ids: [], recipe: emptyRecipe() },
    agent: forgottenAgent(state.agent.id, state.agent.version),
    hand_disposed: !state.events.some(({ event }) => event.type === "drover.call_started"),
    ...{ events: [], inbox: [], checkpoint: undefined, input_seq: null, input_at: null },
    ...{ deleted_at: now, wake_at: null, lease_holder: null, lease_expires_at: null },
  };
}

function isListed(state: SessionState, filter: SessionListFilter): boolean {
  const { agentId, agentVersion, statuses, includeArchived, createdAt } = filter;
  return (
    (agentId === undefined || state.agent.id === agentId) &&
    (agentVersion === undefined || state.agent.version === agentVersion) &&
    (statuses === undefined || statuses.includes(state.status)) &&
    (includeArchived === true || state.archived_at === null) &&
    isWithin(state.created_at, createdAt)
  );
}

function recordOf(state: SessionState): SessionRecord {
  const {
    last_processed_at: _processed,
    last_arrival: _arrival,
    wake_at: _wake,
    woken: _woken,
    lease_holder: _holder,
    lease_expires_at: _expires,
    epoch: _epoch,
    claims: _claims,
    hand_disposed: _disposed,
    events: _events,
    inbox: _inbox,
    checkpoint: _checkpoint,
    ...record
  } = state;
  return record;
}
