import assert from "node:assert/strict";
import { toFile } from "@anthropic-ai/sdk";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted, assertRefused } from "../support/expect.ts";
import { newSession } from "../support/fixtures.ts";
import { interrupt, send } from "../support/sending.ts";
import { historyOf, message, runTurn, script } from "../support/turns.ts";
import { eventsOf, onlyOf, Watch } from "../support/watch.ts";
import type { Target } from "../target.ts";

const base64 = (bytes: readonly number[] | string) =>
  Buffer.from(bytes as string, "latin1").toString("base64");

/** What images of each type begin with. */
const IMAGES: Readonly<Record<string, string>> = {
  "image/png":
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "image/jpeg": base64(
    "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9",
  ),
  "image/gif": base64("GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00;"),
  "image/webp": base64(
    "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11",
  ),
};
const PDF = base64("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF");
const SAY = { type: "text", text: script("- say: seen") };

const image = (source: object) => ({ type: "image", source });
const document = (source: object, more: object = {}) => ({ type: "document", source, ...more });
const png = { type: "base64", media_type: "image/png", data: IMAGES["image/png"] };
const plain = { type: "text", media_type: "text/plain", data: "some notes" };

export const eventsContent: readonly Scenario[] = [
  scenario(
    "images as base64 and by URL are taken, and echoed as they were sent",
    { verifies: ["events.content.image-base64", "events.content.image-url"], rows: [64] },
    async (t) => {
      const inline = Object.entries(IMAGES).map(([media_type, data]) =>
        image({ type: "base64", media_type, data }),
      );
      await assertTaken(t, [...inline, image({ type: "url", url: "https://example.com/a.png" })]);
    },
  ),
  scenario(
    "documents as base64, as plain text and by URL are taken, with title and context",
    {
      verifies: [
        "events.content.document-base64",
        "events.content.document-text",
        "events.content.document-url",
        "events.content.document-title",
      ],
      rows: [64],
    },
    async (t) => {
      await assertTaken(t, [
        document({ type: "base64", media_type: "application/pdf", data: PDF }),
        document(plain, { title: "Notes", context: "of the last meeting" }),
        document(plain, { title: null, context: null }),
        document({ type: "url", url: "https://example.com/a.pdf" }),
      ]);
    },
  ),
  scenario(
    "images and documents by file id are taken, and the session goes on without them",
    {
      verifies: [
        "events.content.image-file",
        "events.content.document-file",
        "events.content.file-gone",
      ],
      rows: [64],
    },
    async (t) => {
      const picture = await upload(t, IMAGES["image/png"] ?? "", "a.png", "image/png");
      const paper = await upload(t, PDF, "a.pdf", "application/pdf");
      const notes = await upload(t, base64("some notes"), "a.txt", "text/plain");
      const id = await assertTaken(t, [
        image({ type: "file", file_id: picture }),
        document({ type: "file", file_id: paper }, { title: "Paper" }),
        document({ type: "file", file_id: notes }),
      ]);
      await t.client.beta.files.delete(paper);
      const turn = await runTurn(t, id, script("- say: still here"));
      assert.deepEqual(eventsOf(turn, "session.error"), []);
      assert.deepEqual(onlyOf(turn, "agent.message").content, [
        { type: "text", text: "still here" },
      ]);
    },
  ),
  scenario(
    "a file has to be there, and to be what it is sent as",
    { verifies: ["events.content.file-fits", "events.content.file-count"], rows: [64] },
    async (t) => {
      const notes = await upload(t, base64("some notes"), "a.txt", "text/plain");
      const archive = await upload(t, base64("PK"), "a.zip", "application/zip");
      const session = await newSession(t);
      const sent = async (...blocks: object[]) =>
        await send(t, session.id, [{ type: "user.message", content: [SAY, ...blocks] }]);
      const file = (file_id: string) => ({ type: "file", file_id });
      const none = await sent(document(file("file_none")));
      assert([400, 404].includes(none.status), `a file that is not there: ${none.status}`);
      assertRefused(await sent(image(file(notes))), { status: 400, says: /file_id/ });
      assertRefused(await sent(document(file(archive))), { status: 400, says: /file_id/ });
      const many = Array.from({ length: 101 }, () => document(file(notes)));
      assertRefused(await sent(...many), { status: 400, says: /100/ });
      accepted(await sent(...many.slice(1)));
      await interrupt(t, session.id);
    },
  ),
  scenario(
    "blocks that a message does not take are refused, and so is an unknown one",
    { verifies: ["events.content.message-blocks", "events.content.redacted"], rows: [64] },
    async (t) => {
      const result = {
        type: "search_result",
        source: "https://example.com",
        title: "x",
        content: [{ type: "text", text: "x" }],
        citations: { enabled: false },
      };
      for (const block of [{ type: "redacted" }, result, { type: "audio" }, {}, "text", null]) {
        await assertBlockRefused(t, block, /events\.0\.content\.1/);
      }
    },
  ),
  scenario(
    "a source has to be of a kind that its block takes",
    { verifies: ["events.content.sources"], rows: [64] },
    async (t) => {
      const refused: readonly [block: object, says: RegExp][] = [
        [image(plain), /source/],
        [image({ type: "base64", media_type: "image/tiff", data: png.data }), /media_type/],
        [image({ type: "base64", data: png.data }), /media_type/],
        [image({ ...png, data: "no base64!" }), /data/],
        [image({ ...png, data: "" }), /data/],
        [image({ type: "url" }), /url/],
        [image({ type: "url", url: "file:///etc/passwd" }), /url/],
        [image({ type: "file" }), /file_id/],
        [document({ ...plain, media_type: "text/html" }), /media_type/],
        [document({ type: "content", content: [] }), /source/],
        [document(plain, { title: 7 }), /title/],
        [{ type: "document" }, /source/],
        [{ type: "text" }, /text/],
      ];
      for (const [block, says] of refused) await assertBlockRefused(t, block, says);
      await assertTaken(t, [image(png), document(plain)]);
    },
  ),
  scenario(
    "an agent.message holds blocks of text, also where it holds several",
    { verifies: ["events.content.agent-message"] },
    async (t) => {
      const session = await newSession(t);
      const events = await runTurn(
        t,
        session.id,
        script('- say: "Zwölf Boxkämpfer 🥊\\nund mehr"'),
      );
      const { content } = onlyOf(events, "agent.message");
      assert.deepEqual(content, [{ type: "text", text: "Zwölf Boxkämpfer 🥊\nund mehr" }]);
    },
  ),
  scenario(
    "a result takes no redacted block, and nothing else that is unknown to it",
    { verifies: ["events.content.no-redacted-results"] },
    async (t) => {
      const session = await newSession(t);
      for (const block of [{ type: "redacted" }, { type: "audio" }, image(plain)]) {
        for (const event of results([block])) {
          assertRefused(await send(t, session.id, [event]), {
            status: 400,
            says: /events\.0\.content\.0/,
          });
        }
      }
      const result = {
        type: "search_result",
        source: "https://example.com",
        title: "x",
        content: [{ type: "text", text: "x" }],
        citations: { enabled: false },
      };
      // These blocks are right; it is the call that is not there.
      for (const event of results([SAY, image(png), document(plain), result])) {
        const answer = await send(t, session.id, [event]);
        assertRefused(answer, { status: 400 });
        assert.doesNotMatch(answer.body.error.message, /content/);
      }
    },
  ),
  scenario(
    "a system.message takes text alone",
    { verifies: ["events.content.system-text-only"], rows: [63] },
    async (t) => {
      const session = await newSession(t);
      for (const block of [image(png), document(plain), { type: "redacted" }]) {
        const events = [message("x"), { type: "system.message", content: [block] }];
        assertRefused(await send(t, session.id, events), {
          status: 400,
          says: /events\.1\.content\.0/,
        });
      }
      accepted(await send(t, session.id, [message("x")]));
      await interrupt(t, session.id);
    },
  ),
];

function results(content: readonly unknown[]) {
  return [
    { type: "user.custom_tool_result", custom_tool_use_id: "sevt_x", content },
    { type: "user.tool_result", tool_use_id: "sevt_x", content },
  ];
}

/** The blocks are accepted, echoed and kept as they were sent, and the turn ends well. Gives the session. */
async function assertTaken(t: Target, blocks: readonly object[]): Promise<string> {
  const session = await newSession(t);
  const watch = await Watch.open(t, session.id);
  const content = [SAY, ...blocks];
  const answer = await send(t, session.id, [{ type: "user.message", content }]);
  assert.deepEqual(accepted(answer).data[0].content, content);
  const turn = await watch.turn();
  await watch.close();
  assert.deepEqual(eventsOf(turn, "session.error"), []);
  assert.deepEqual(onlyOf(turn, "agent.message").content, [{ type: "text", text: "seen" }]);
  const kept = onlyOf(await historyOf(t, session.id), "user.message");
  assert.deepEqual(kept.content, content);
  return session.id;
}

/** Gives the file's id. */
async function upload(t: Target, bytes: string, name: string, type: string): Promise<string> {
  const file = await toFile(Buffer.from(bytes, "base64"), name, { type });
  return (await t.client.beta.files.upload({ file })).id;
}

async function assertBlockRefused(t: Target, block: unknown, says: RegExp): Promise<void> {
  const session = await t.shared("session for refused blocks", () => newSession(t));
  const event = { type: "user.message", content: [SAY, block] };
  assertRefused(await send(t, session.id, [event]), { status: 400, says });
}
