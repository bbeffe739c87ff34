import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import Anthropic, { toFile } from "@anthropic-ai/sdk";
import {
  FileExpiredError,
  FileNotDownloadableError,
  StorageQuotaExceededError,
} from "@anthropic-ai/sdk/resources/files";
import { describe, expect, test } from "vitest";
import { type Body, openWorld, type World } from "../world.testsuite.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

function form(parts: Readonly<Record<string, string | File>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(parts)) data.append(name, value);
  return data;
}

async function upload(world: World, body: string | FormData, headers: Record<string, string> = {}) {
  const { url } = await world.listen();
  const response = await fetch(`${url}/v1/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.key}`, ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as Body };
}

/** Every blob there is, whole or half. */
function blobsOf(world: World): string[] {
  return readdirSync(join(world.dataFolder, "blobs"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

async function putOutput(world: World, text: string, filename: string) {
  const content = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  const blob = await world.blobs.put(world.workspaceId, content);
  await world.store.write((tx) =>
    tx.files.insert({
      workspace_id: world.workspaceId,
      id: "file_output",
      filename,
      mime_type: "text/html",
      ...blob,
      created_at: tx.now,
      expires_at: null,
      session_id: "sesn_1",
      downloadable: true,
      output_path: filename,
    }),
  );
}

describe("upload", () => {
  test("stores the content and keeps the last part of its name", async () => {
    const world = await openWorld();
    const file = new File(["a,b\n1,2\n"], "../data/in.csv", { type: "text/csv" });
    const answer = await upload(world, form({ file, expires_in_seconds: "3600" }));
    expect(answer).toEqual({
      status: 200,
      body: {
        id: expect.stringMatching(/^file_/),
        type: "file",
        filename: "in.csv",
        mime_type: "text/csv",
        size_bytes: 8,
        created_at: TIME,
        downloadable: false,
        expires_at: TIME,
        scope: null,
      },
    });
    expect(blobsOf(world)).toHaveLength(1);
  });

  test("takes the field after the file as well as before it", async () => {
    const world = await openWorld();
    const file = new File(["x"], "x.txt");
    const { body } = await upload(world, form({ expires_in_seconds: "3600", file }));
    expect(body.expires_at).toEqual(TIME);
  });

  test.each<[string, string | FormData, Record<string, string>, number]>([
    ["no file", form({ expires_in_seconds: "3600" }), {}, 400],
    ["another part", form({ document: new File(["x"], "x") }), {}, 400],
    ["an unknown field", form({ file: new File(["x"], "x"), colour: "red" }), {}, 400],
    ["too short a life", form({ file: new File(["x"], "x"), expires_in_seconds: "60" }), {}, 400],
    [
      "a field that is far too long",
      form({ file: new File(["x"], "x"), expires_in_seconds: "9".repeat(5000) }),
      {},
      400,
    ],
    ["JSON", "{}", { "content-type": "application/json" }, 400],
    ["a form without a boundary", "x", { "content-type": "multipart/form-data; a=b" }, 400],
    [
      "a form that is cut off",
      '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf',
      { "content-type": "multipart/form-data; boundary=x" },
      400,
    ],
    ["an empty form", "", { "content-type": "multipart/form-data; boundary=x" }, 400],
  ])("answers 4xx to %s and keeps nothing", async (_name, body, headers, status) => {
    const world = await openWorld();
    const answer = await upload(world, body, headers);
    expect([answer.status, answer.body.type]).toEqual([status, "error"]);
    expect(blobsOf(world)).toEqual([]);
    expect(world.logged).toEqual([]);
  });

  test("refuses two files at once", async () => {
    const world = await openWorld();
    const data = form({ file: new File(["x"], "x") });
    data.append("file", new File(["y"], "y"));
    expect((await upload(world, data)).status).toBe(400);
    expect(blobsOf(world)).toEqual([]);
  });

  test("of a client that goes away half-way leaves nothing, and is no failure of ours", async () => {
    const world = await openWorld();
    const { port } = await world.listen();
    const socket = connect(port, "127.0.0.1");
    socket.write(
      [
        "POST /v1/files HTTP/1.1",
        "host: localhost",
        `authorization: Bearer ${world.key}`,
        "content-type: multipart/form-data; boundary=x",
        "content-length: 1000000",
        "",
        '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n',
        "half".repeat(10_000),
      ].join("\r\n"),
    );
    await expect.poll(() => blobsOf(world)).toHaveLength(1);
    socket.destroy();
    await expect.poll(() => blobsOf(world)).toEqual([]);
    expect(world.logged).toEqual([]);
    expect((await world.request("GET", "/v1/files")).body.data).toEqual([]);
  });

  test("retried with another boundary is stored once", async () => {
    const world = await openWorld();
    const attempt = (count: number) =>
      upload(world, form({ file: new File(["same"], "a.txt") }), {
        "x-stainless-retry-count": String(count),
      });
    const first = await attempt(0);
    const retry = await attempt(1);
    expect(retry.body).toEqual(first.body);
  });
});

describe("download", () => {
  test("gives what an agent made, to be saved and not to be run", async () => {
    const world = await openWorld();
    const { url } = await world.listen();
    await putOutput(world, "<script>1</script>", "an 'ü'.html");
    const response = await fetch(`${url}/v1/files/file_output/content`, {
      headers: { authorization: `Bearer ${world.key}` },
    });
    expect(await response.text()).toBe("<script>1</script>");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html",
      "content-length": "18",
      "content-disposition": "attachment; filename*=UTF-8''an%20%27%C3%BC%27.html",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "request-id": expect.stringMatching(/^req_/),
    });
  });

  test("is the same without a connection of its own", async () => {
    const world = await openWorld();
    await putOutput(world, "text", "a.txt");
    const response = await world.app.request("/v1/files/file_output/content", {
      headers: { authorization: `Bearer ${world.key}` },
    });
    expect(await response.text()).toBe("text");
  });
});

test("the official client knows an expired file and a full workspace by their classes", async () => {
  let now = Date.now();
  const world = await openWorld({ now: () => now, filesBytesMax: 4 });
  const { url } = await world.listen();
  const { files } = new Anthropic({ apiKey: world.key, baseURL: url, maxRetries: 0 });
  const upload = (text: string, more: object = {}) =>
    files.upload({ file: new File([text], "a.txt"), ...more });
  const file = await upload("1234", { expires_in_seconds: 3_600 });
  await expect(upload("5")).rejects.toThrow(StorageQuotaExceededError);
  expect(await world.loose()).toHaveLength(1);
  await expect(files.download(file.id)).rejects.toThrow(FileNotDownloadableError);
  now += 3_600_000;
  await expect(files.download(file.id)).rejects.toThrow(FileExpiredError);
  expect(await files.retrieveMetadata(file.id)).toEqual(file);
});

test("the official client uploads, lists, reads, and deletes", async () => {
  const world = await openWorld();
  const { url } = await world.listen();
  const { files } = new Anthropic({ apiKey: world.key, baseURL: url, maxRetries: 0 }).beta;
  const file = await files.upload({ file: await toFile(Buffer.from("hi"), "hi.txt") });
  expect(file).toMatchObject({ filename: "hi.txt", size_bytes: 2, mime_type: "text/plain" });
  expect((await files.list()).data).toEqual([file]);
  await expect(files.download(file.id)).rejects.toMatchObject({
    status: 400,
    errorCode: "file_not_downloadable",
  });
  expect(await files.delete(file.id)).toEqual({ id: file.id, type: "file_deleted" });
  expect(await world.loose()).toHaveLength(1);
  await expect(files.retrieveMetadata(file.id)).rejects.toMatchObject({ status: 404 });
});
