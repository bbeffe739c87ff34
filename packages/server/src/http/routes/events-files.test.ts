import { describe, expect, test } from "vitest";
import { openWorld, type World } from "../world.testsuite.ts";

const file = (type: "image" | "document", file_id: string) => ({
  type,
  source: { type: "file", file_id },
});
const message = (...content: object[]) => ({ type: "user.message", content });

const FILES = {
  file_png: { mime_type: "image/png" },
  file_pdf: { mime_type: "application/pdf" },
  file_txt: { mime_type: "text/plain; charset=utf-8" },
  file_zip: { mime_type: "application/zip" },
  file_old: { mime_type: "image/png", expires_at: "2020-01-01T00:00:00.000Z" },
  file_empty: { mime_type: "text/plain", size_bytes: 0 },
  file_huge_png: { mime_type: "image/png", size_bytes: 5 * 1024 * 1024 + 1 },
  file_huge_txt: { mime_type: "text/plain", size_bytes: 4 * 1024 * 1024 + 1 },
};

async function worldWithFiles(): Promise<World> {
  const world = await openWorld();
  for (const [id, changes] of Object.entries(FILES)) await world.putFile(id, changes);
  return world;
}

async function send(world: World, ...events: object[]) {
  const { body } = await world.request("POST", "/v1/sessions", await world.prepare());
  return await world.request("POST", `/v1/sessions/${body.id}/events`, { events });
}

describe("content that is a file", () => {
  test("is taken and echoed as it was sent", async () => {
    const content = [
      file("image", "file_png"),
      { ...file("document", "file_pdf"), title: "Paper", context: null },
      file("document", "file_txt"),
    ];
    const { status, body } = await send(await worldWithFiles(), message(...content));
    expect([status, body.data]).toMatchObject([200, [{ content }]]);
  });

  test.each<[string, object, number, RegExp]>([
    ["is not there", file("image", "file_none"), 404, /file_none/],
    ["has expired", file("image", "file_old"), 404, /expired/],
    ["is no image", file("image", "file_pdf"), 400, /application\/pdf is no image/],
    ["is no document", file("document", "file_png"), 400, /image\/png is no document/],
    ["is something else", file("document", "file_zip"), 400, /application\/zip/],
    ["is empty", file("document", "file_empty"), 400, /empty/],
    ["is too large for an image", file("image", "file_huge_png"), 400, /larger than 5242880/],
    ["is too large for a text", file("document", "file_huge_txt"), 400, /larger than 4194304/],
  ])(
    "is refused where the file %s, and with it the whole request",
    async (_, block, status, says) => {
      const answer = await send(
        await worldWithFiles(),
        message({ type: "text", text: "a" }),
        message(block),
      );
      expect([answer.status, answer.body.error.message]).toEqual([
        status,
        expect.stringMatching(/^events\.1\.content\.0\.source\.file_id: |^file file_old expired/),
      ]);
      expect(answer.body.error.message).toMatch(says);
    },
  );

  test("is of a hundred documents and a hundred images at most in one request", async () => {
    const world = await worldWithFiles();
    const documents = (count: number) =>
      Array.from({ length: count }, () => file("document", "file_txt"));
    const images = Array.from({ length: 100 }, () => file("image", "file_png"));
    expect(
      (await send(world, message(...documents(60)), message(...documents(40), ...images))).status,
    ).toBe(200);
    const { status, body } = await send(
      world,
      message(...documents(60)),
      message(...documents(41)),
    );
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringMatching(/^events: at most 100 documents/),
    ]);
  });

  test("is of another workspace as little as anything else", async () => {
    const world = await worldWithFiles();
    await world.putFile("file_theirs", { workspace_id: "wrkspc_other", mime_type: "image/png" });
    expect((await send(world, message(file("image", "file_theirs")))).status).toBe(404);
  });

  test("is checked in initial events as well", async () => {
    const world = await worldWithFiles();
    const create = async (block: object) =>
      await world.request("POST", "/v1/sessions", {
        ...(await world.prepare()),
        initial_events: [message(block)],
      });
    const { status, body } = await create(file("image", "file_none"));
    expect([status, body.error.message]).toEqual([
      404,
      expect.stringMatching(/^initial_events\.0/),
    ]);
    expect((await create(file("image", "file_png"))).status).toBe(200);
  });
});
