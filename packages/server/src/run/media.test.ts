import { describe, expect, test } from "vitest";
import type { ModelBlock, ModelRequest } from "../core/ports/model.ts";
import type { FileRecord } from "../core/ports/records.ts";
import { ManualClock } from "../hands/fake/manual-clock.ts";
import { MemoryBlobs } from "../store/memory-blobs.ts";
import { withMedia } from "./media.ts";

const WORKSPACE = "wrkspc_1";
const MB = 1024 * 1024;

async function* chunks(...contents: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const content of contents) yield content;
}

/** Files in a blob store that counts what is read of it. */
async function filesWorld(
  files: Readonly<Record<string, Partial<FileRecord> & { bytes?: Uint8Array }>>,
) {
  const blobs = new MemoryBlobs();
  const records: FileRecord[] = [];
  for (const [id, { bytes = new Uint8Array(), ...changes }] of Object.entries(files)) {
    const { sha256, size_bytes } = await blobs.put(WORKSPACE, chunks(bytes));
    records.push({
      workspace_id: WORKSPACE,
      id,
      filename: id,
      mime_type: "image/png",
      size_bytes,
      sha256,
      created_at: "2026-01-01T00:00:00.000Z",
      expires_at: null,
      session_id: null,
      downloadable: false,
      output_path: null,
      ...changes,
    });
  }
  const reads: string[] = [];
  const logged: string[] = [];
  const deps = {
    log: { info: () => undefined, error: (_: object, message: string) => logged.push(message) },
    clock: new ManualClock(),
    blobs: {
      get: (...given: Parameters<MemoryBlobs["get"]>) => {
        reads.push(given[1]);
        if (given[1].startsWith("bad")) throw new Error("EIO: i/o error, read");
        return blobs.get(...given);
      },
    },
    store: {
      files: {
        find: async () => undefined,
        findMany: async (_: string, ids: readonly string[]) =>
          records.filter(({ id }) => ids.includes(id)),
        list: async () => [],
      },
    },
  };
  return {
    reads,
    logged,
    sent: async (...content: ModelBlock[]) => {
      const request = requestOf(content);
      const resolved = await withMedia(request, WORKSPACE, deps);
      return resolved.messages[0]?.content ?? [];
    },
  };
}

function requestOf(content: readonly ModelBlock[]): ModelRequest {
  return {
    model: "m",
    system: [],
    tools: [],
    max_tokens: 1,
    messages: [{ role: "user", content }],
  };
}

const file = (type: "image" | "document", file_id: string, more: object = {}): ModelBlock => ({
  type,
  source: { type: "file", file_id },
  ...more,
});
const inline = (length: number): ModelBlock => ({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: "A".repeat(length) },
});
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const PNG = bytes("\x89PNG\r\n\x1a\n and more");

describe("a request with files", () => {
  test("is sent with what is in them, and with what their blocks say besides", async () => {
    const world = await filesWorld({
      file_png: { bytes: PNG },
      file_pdf: { bytes: bytes("%PDF-1.7"), mime_type: "application/pdf" },
      file_txt: {
        bytes: new Uint8Array([0xe4, 0x20, 0x00, 0x61]),
        mime_type: "text/plain; charset=utf-8",
      },
    });
    const marked = { cache_control: { type: "ephemeral" } };
    const sent = await world.sent(
      file("image", "file_png"),
      file("document", "file_pdf", {
        title: "Paper",
        context: "old",
        citations: { enabled: true },
      }),
      file("document", "file_txt", marked),
    );
    const base64 = (media_type: string, content: Uint8Array) => ({
      type: "base64",
      media_type,
      data: Buffer.from(content).toString("base64"),
    });
    expect(sent).toEqual([
      { type: "image", source: base64("image/png", PNG) },
      {
        type: "document",
        source: base64("application/pdf", bytes("%PDF-1.7")),
        title: "Paper",
        context: "old",
        citations: { enabled: true },
      },
      {
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "\uFFFD \uFFFDa" },
        ...marked,
      },
    ]);
  });

  test.each<[string, Partial<FileRecord> & { bytes?: Uint8Array }, RegExp]>([
    [
      "has expired",
      { bytes: PNG, expires_at: "1970-01-01T00:00:00.000Z" },
      /An image was here.*expired/,
    ],
    ["has expired and is no more", { bytes: PNG, sha256: "" }, /expired/],
    ["has lost its content", { sha256: "b".repeat(64), size_bytes: 3 }, /cannot be read/],
    ["is on a broken disk", { sha256: "bad", size_bytes: 3 }, /cannot be read/],
    ["is not what it says", { bytes: bytes("%PDF-1.7") }, /is no image\/png/],
    [
      "is of another kind",
      { bytes: PNG, mime_type: "application/zip" },
      /no image that a model takes/,
    ],
    ["is too large", { bytes: PNG, size_bytes: 6 * MB }, /no image that a model takes/],
  ])("has a sentence where a file %s", async (_, given, says) => {
    const world = await filesWorld({ file_1: given });
    const [block] = await world.sent(
      file("image", "file_1", { cache_control: { type: "ephemeral" } }),
    );
    expect(block).toEqual({
      type: "text",
      text: expect.stringMatching(says),
      cache_control: { type: "ephemeral" },
    });
  });

  test("tells the operator of a file that cannot be read", async () => {
    const world = await filesWorld({ file_1: { sha256: "bad", size_bytes: 3 } });
    await world.sent(file("image", "file_1"));
    expect(world.logged).toEqual(["the content of a file cannot be read"]);
  });

  test("has a sentence where a file was deleted", async () => {
    const world = await filesWorld({});
    expect(await world.sent(file("document", "file_1"))).toEqual([
      { type: "text", text: "[A document was here. It was deleted.]" },
    ]);
  });

  test("reads a file once, however often it is there, also in results", async () => {
    const world = await filesWorld({ file_1: { bytes: PNG } });
    const result = { type: "tool_result", tool_use_id: "t", content: [file("image", "file_1")] };
    const sent = await world.sent(result, file("image", "file_1"), file("image", "file_1"));
    expect(JSON.stringify(sent)).not.toContain("file_1");
    expect(sent[0]).toMatchObject({
      type: "tool_result",
      content: [{ source: { type: "base64" } }],
    });
    expect(world.reads).toHaveLength(1);
  });

  test("keeps its newest media, and reads nothing that has no room", async () => {
    const big = Buffer.concat([bytes("%PDF-"), Buffer.alloc(9 * MB)]);
    const pdf = { bytes: big, mime_type: "application/pdf" };
    const world = await filesWorld({
      file_1: pdf,
      file_2: { ...pdf, bytes: Buffer.concat([big, bytes("2")]) },
    });
    const sent = await world.sent(
      inline(4 * MB),
      file("document", "file_1"),
      inline(10 * MB),
      file("document", "file_2"),
    );
    expect(sent.map(({ type }) => type)).toEqual(["text", "text", "document", "document"]);
    expect(sent[0]?.["text"]).toContain("newer ones leave no room");
    expect(world.reads).toHaveLength(1);
  });
});

test("a request without media is sent as it is", async () => {
  const request = requestOf([{ type: "text", text: "a" }]);
  const { store, ...deps } = {
    store: {} as never,
    blobs: {} as never,
    clock: {} as never,
    log: {} as never,
  };
  expect(await withMedia(request, WORKSPACE, { store, ...deps })).toBe(request);
});
