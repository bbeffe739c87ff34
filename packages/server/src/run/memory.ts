import { createHash } from "node:crypto";
import { idPrefixes } from "@drover/api";
import { type MemoryTold, memoryNote } from "../core/harness/memory-note.ts";
import { MEMORIES_MAX } from "../core/memory/limits.ts";
import { type HashedChange, type MemoryWrite, planWriteBack } from "../core/memory/write-back.ts";
import type { MemoryMount, MemoryReport } from "../core/ports/hands.ts";
import type { MemoryStoreKey, WholeMemory } from "../core/ports/memory-stores.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";

type NewId = (prefix: string) => string;

/** What a call's hand found changed in its memory stores. */
export interface ReportedMemory {
  readonly callId: string;
  readonly report: MemoryReport;
}

interface StoreToWrite {
  readonly key: MemoryStoreKey;
  readonly sessionId: string;
  readonly mount: MemoryMount;
}

/**
 * Makes versions of what calls changed in the session's memory stores, each change once however often it
 * is reported. Gives what the model is to be told, by call.
 */
export async function putMemories(
  tx: StoreTransaction,
  session: SessionRecord,
  reported: readonly ReportedMemory[],
  newId: NewId,
): Promise<ReadonlyMap<string, string>> {
  const key = { workspaceId: session.workspace_id, sessionId: session.id };
  const notes = new Map<string, string>();
  for (const { callId, report } of reported) {
    const stored = await tx.memoryStores.findCopy(key);
    // What an earlier report had is also in the newer one, which is stored.
    if (stored?.copy_id === report.copy_id && stored.seq >= report.seq) continue;
    const told = await putReport(tx, session, report, newId);
    const refused = told.flatMap(({ mount, told: all }) =>
      all.flatMap(({ type, path }) =>
        type === "refused" ? [{ memory_store_id: mount.memory_store_id, path }] : [],
      ),
    );
    const { copy_id, seq } = report;
    await tx.memoryStores.putCopy(key, { copy_id, seq, refused });
    const note = memoryNote(told);
    if (note !== undefined) notes.set(callId, note);
  }
  return notes;
}

async function putReport(
  tx: StoreTransaction,
  session: SessionRecord,
  report: MemoryReport,
  newId: NewId,
): Promise<readonly MemoryTold[]> {
  const all: MemoryTold[] = [];
  // In one order everywhere, so that no two transactions wait for each other.
  const mounts = session.recipe.mounts
    .filter((mount) => mount.type === "memory_store")
    .toSorted((left, right) => (left.memory_store_id < right.memory_store_id ? -1 : 1));
  for (const mount of mounts) {
    const isOfStore = (each: { memory_store_id: string }) =>
      each.memory_store_id === mount.memory_store_id;
    const unstored = report.unstored.filter(isOfStore);
    // The mount enforces it; a sandbox that got around that is not obeyed.
    const changes = mount.access === "read_only" ? [] : report.changes.filter(isOfStore);
    const key = { workspaceId: session.workspace_id, storeId: mount.memory_store_id };
    const store = { key, sessionId: session.id, mount };
    const told = changes.length > 0 ? await putChanges(tx, store, changes, newId) : [];
    all.push({ mount, told, unstored });
  }
  return all;
}

async function putChanges(
  tx: StoreTransaction,
  { key, sessionId }: StoreToWrite,
  changes: MemoryReport["changes"],
  newId: NewId,
): Promise<MemoryTold["told"]> {
  const store = await tx.memoryStores.lock(key);
  if (store === undefined || store.archived_at !== null) {
    const reason = `the store is ${store === undefined ? "deleted" : "archived"}`;
    return changes.map(({ path }) => ({ type: "refused", path, reason }));
  }
  const present = await tx.memoryStores.listMemories(key, { limit: MEMORIES_MAX });
  const { writes, told } = planWriteBack(present, changes.map(hashed));
  for (const write of writes) await carryOut(tx, { key, sessionId }, write, newId);
  return told;
}

function hashed({ path, derived_from, content }: MemoryReport["changes"][number]): HashedChange {
  return { path, derived_from, content, sha256: content === null ? null : sha256Of(content) };
}

async function carryOut(
  tx: StoreTransaction,
  { key, sessionId }: Pick<StoreToWrite, "key" | "sessionId">,
  write: MemoryWrite,
  newId: NewId,
): Promise<void> {
  const by = { type: "session_actor", session_id: sessionId } as const;
  const versionId = newId(idPrefixes.memoryVersion);
  const { memoryStores } = tx;
  switch (write.type) {
    case "delete":
      return await memoryStores.deleteMemory(write.memory, versionId, by);
    case "create": {
      const created: WholeMemory = {
        workspace_id: key.workspaceId,
        memory_store_id: key.storeId,
        id: newId(idPrefixes.memory),
        memory_version_id: versionId,
        path: write.path,
        ...measured(write.content),
        created_at: tx.now,
        updated_at: tx.now,
      };
      return await memoryStores.insertMemory(created, by);
    }
    case "rename": {
      const whole = await memoryStores.findMemory(key, write.memory.id, "full");
      if (whole?.content == null) throw new Error(`memory ${write.memory.id} has no content`);
      const { content, path } = { content: whole.content, path: write.path };
      const renamed = { ...whole, content, path, memory_version_id: versionId, updated_at: tx.now };
      return await memoryStores.updateMemory(renamed, by);
    }
    case "update": {
      const updated = { ...write.memory, ...measured(write.content), updated_at: tx.now };
      return await memoryStores.updateMemory({ ...updated, memory_version_id: versionId }, by);
    }
  }
}

function measured(content: string) {
  return {
    content,
    content_size_bytes: Buffer.byteLength(content),
    content_sha256: sha256Of(content),
  };
}

function sha256Of(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}
