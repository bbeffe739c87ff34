import type { FileRecord, Files, FileWriter } from "../../core/ports/records.ts";
import { type MemorySource, type MemoryTransaction, pageOf, stored } from "./memory-data.ts";
import { addLooseBlob } from "./memory-loose-blobs.ts";

export function memoryFileReader(source: MemorySource): Files {
  return {
    find: async (workspaceId, id) => (await source()).files.get(workspaceId, id),
    findMany: async (workspaceId, ids) => {
      const wanted = new Set(ids);
      const found = (await source()).files.filter(
        (file) => file.workspace_id === workspaceId && wanted.has(file.id),
      );
      return pageOf(found, { limit: ids.length, order: "asc" });
    },
    list: async (workspaceId, { sessionId }, page) => {
      const found = (await source()).files.filter(
        (file) =>
          file.workspace_id === workspaceId &&
          (sessionId === undefined || file.session_id === sessionId),
      );
      return pageOf(found, page);
    },
  };
}

export function memoryFiles(tx: MemoryTransaction): FileWriter {
  return {
    ...memoryFileReader(async () => tx.data()),
    insert: async (file) => insert(tx, file),
    putOutput: async (file) => {
      const earlier = sameOutput(tx, file);
      if (earlier === undefined) {
        insert(tx, file);
        return;
      }
      const { id, created_at } = earlier;
      if (earlier.sha256 !== file.sha256) addLooseBlob(tx, file.workspace_id, earlier.sha256);
      tx.data().files.set(stored({ ...file, id, created_at }), file.workspace_id, id);
    },
    delete: async (workspaceId, id) => remove(tx, tx.data().files.get(workspaceId, id)),
    deleteOfSession: async (workspaceId, sessionId) => {
      const own = tx
        .data()
        .files.filter((file) => file.workspace_id === workspaceId && file.session_id === sessionId);
      for (const file of own) remove(tx, file);
    },
    isReferenced: async (workspaceId, sha256) => isReferenced(tx, workspaceId, sha256),
  };
}

function insert(tx: MemoryTransaction, file: FileRecord): void {
  if (sameOutput(tx, file) !== undefined) {
    throw new Error(`output ${file.output_path} of ${file.session_id} is stored already`);
  }
  tx.data().files.insert(stored(file), file.workspace_id, file.id);
}

function remove(tx: MemoryTransaction, file: FileRecord | undefined): void {
  if (file === undefined) return;
  addLooseBlob(tx, file.workspace_id, file.sha256);
  tx.data().files.delete(file.workspace_id, file.id);
}

function sameOutput(tx: MemoryTransaction, file: FileRecord): FileRecord | undefined {
  if (file.output_path === null || file.session_id === null) return undefined;
  return tx
    .data()
    .files.filter(
      (other) =>
        other.workspace_id === file.workspace_id &&
        other.session_id === file.session_id &&
        other.output_path === file.output_path,
    )[0];
}

function isReferenced(tx: MemoryTransaction, workspaceId: string, sha256: string): boolean {
  const { files, sessions } = tx.data();
  const ofFiles = files.filter(
    (file) => file.workspace_id === workspaceId && file.sha256 === sha256,
  );
  const ofRecipes = sessions.filter(
    (session) =>
      session.workspace_id === workspaceId &&
      session.recipe.mounts.some((mount) => mount.sha256 === sha256),
  );
  return ofFiles.length + ofRecipes.length > 0;
}
