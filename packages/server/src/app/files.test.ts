import { FileListQuery, queryRecord } from "@drover/api";
import { expect, test } from "vitest";
import type { FileRecord } from "../core/ports/records.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { newId } from "../lib/new-id.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { createFiles, type Upload } from "./files.ts";
import { createCursors } from "./pagination.ts";
import type { Principal } from "./principal.ts";

const principal: Principal = { workspaceId: "wrkspc_a", keyId: "apikey_a", role: "admin" };
const stranger: Principal = { ...principal, workspaceId: "wrkspc_b" };
const blob = { sha256: "ab".repeat(32), size_bytes: 3 };

function world(options: { filesBytesMax?: number } = {}) {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, announcements: { publish: () => undefined } });
  const files = createFiles({
    store,
    blobs: { get: async (workspaceId, sha256) => bytesOf(`${workspaceId} ${sha256.slice(0, 2)}`) },
    clock,
    cursors: createCursors({ key: new Uint8Array(32) }),
    newId,
    ...options,
  });
  const upload = (fields: Partial<Upload> = {}, who = principal) =>
    store.write((tx) => files.upload(tx, who, { filename: "a.csv", blob, ...fields }));
  const putOutput = (fields: Partial<FileRecord> = {}) =>
    store.write((tx) =>
      tx.files.putOutput({
        workspace_id: "wrkspc_a",
        id: "file_output",
        filename: "out.txt",
        mime_type: "text/plain",
        ...blob,
        created_at: tx.now,
        expires_at: null,
        session_id: "sesn_1",
        downloadable: true,
        output_path: "out.txt",
        ...fields,
      }),
    );
  const list = async (query: string) => {
    const parsed = FileListQuery.parse(queryRecord(new URLSearchParams(query)));
    const { data, next_page } = await files.list("wrkspc_a", parsed);
    return { ids: data.map((file) => file.id), next_page };
  };
  return { clock, store, files, upload, putOutput, list };
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("an uploaded file has the last part of its name and the type of its extension", async () => {
  const { clock, files, upload } = world();
  const file = await upload({ filename: "dir/data.CSV", mimeType: "application/octet-stream" });
  expect(file).toEqual({
    id: expect.stringMatching(/^file_/),
    type: "file",
    filename: "data.CSV",
    mime_type: "text/csv",
    size_bytes: 3,
    created_at: new Date(clock.now()).toISOString(),
    downloadable: false,
    expires_at: null,
    scope: null,
  });
  expect(await files.retrieve("wrkspc_a", file.id)).toEqual(file);
  await expect(files.retrieve("wrkspc_b", file.id)).rejects.toThrow("there is no file");
});

test("what was uploaded cannot be downloaded, what an agent made can", async () => {
  const { files, upload, putOutput } = world();
  const { id } = await upload();
  await expect(files.download("wrkspc_a", id)).rejects.toThrow(
    expect.objectContaining({ type: "invalid_request_error", code: "file_not_downloadable" }),
  );
  await putOutput();
  const { file, bytes } = await files.download("wrkspc_a", "file_output");
  expect(file.scope).toEqual({ type: "session", id: "sesn_1" });
  expect(await textOf(bytes)).toBe("wrkspc_a ab");
  await expect(files.download("wrkspc_b", "file_output")).rejects.toThrow("there is no file");
});

test("an expired file has no content any more", async () => {
  const { clock, files, upload, putOutput } = world();
  const { expires_at } = await upload({ expiresInSeconds: 3600 });
  expect(expires_at).toBe(new Date(clock.now() + 3_600_000).toISOString());
  await putOutput({ expires_at });
  await files.download("wrkspc_a", "file_output");
  await clock.advance(3_600_000);
  await expect(files.download("wrkspc_a", "file_output")).rejects.toThrow(
    expect.objectContaining({ type: "not_found_error", code: "file_expired" }),
  );
});

test.each([3599, 7_776_001, 3600.5, Number.NaN])(
  "a file cannot expire in %d s",
  async (seconds) => {
    const { upload } = world();
    await expect(upload({ expiresInSeconds: seconds })).rejects.toThrow("expires_in_seconds");
  },
);

test("a workspace has no more bytes than it may, the same content counted once", async () => {
  const { store, files, upload } = world({ filesBytesMax: 5 });
  const other = (byte: string, size_bytes: number) => ({
    blob: { sha256: byte.repeat(32), size_bytes },
  });
  const { id } = await upload();
  await upload();
  const refusal = { type: "invalid_request_error", code: "storage_quota_exceeded" };
  await expect(upload(other("cd", 3))).rejects.toThrow(expect.objectContaining(refusal));
  await upload(other("cd", 3), stranger);
  await upload(other("ef", 2));
  await expect(upload(other("cd", 1))).rejects.toThrow(expect.objectContaining(refusal));
  await store.write((tx) => files.delete(tx, principal, id));
  await expect(upload(other("cd", 1))).rejects.toThrow(expect.objectContaining(refusal));
  const { data } = await files.list("wrkspc_a", {});
  for (const file of data) await store.write((tx) => files.delete(tx, principal, file.id));
  await upload(other("cd", 5));
});

test("files are listed newest first, by session or by ids", async () => {
  const { clock, upload, putOutput, list } = world();
  const first = await upload();
  await clock.advance(1000);
  const second = await upload();
  await clock.advance(1000);
  await putOutput();
  const foreign = await upload({}, stranger);
  const all = await list("limit=2");
  expect(all.ids).toEqual(["file_output", second.id]);
  expect(await list(`limit=2&page=${all.next_page}`)).toEqual({
    ids: [first.id],
    next_page: null,
  });
  expect((await list("scope_id=sesn_1")).ids).toEqual(["file_output"]);
  const ids = [first.id, "file_unknown", foreign.id, "file_output", first.id];
  expect(await list(ids.map((id) => `ids[]=${id}`).join("&"))).toEqual({
    ids: [first.id, "file_output"],
    next_page: null,
  });
  expect((await list(`ids[]=${first.id}&scope_id=sesn_1`)).ids).toEqual([]);
});

test("a deleted file is gone, and its content is noted for the collector", async () => {
  const { store, files, upload } = world();
  const { id } = await upload();
  const remove = (who: Principal) => store.write((tx) => files.delete(tx, who, id));
  await expect(remove(stranger)).rejects.toThrow("there is no file");
  const loose = () => store.write((tx) => tx.looseBlobs.list("9999-01-01T00:00:00Z", 10));
  expect(await loose()).toEqual([]);
  expect(await remove(principal)).toEqual({ id, type: "file_deleted" });
  expect(await loose()).toMatchObject([{ workspaceId: "wrkspc_a", sha256: blob.sha256 }]);
  await expect(files.retrieve("wrkspc_a", id)).rejects.toThrow("there is no file");
});
