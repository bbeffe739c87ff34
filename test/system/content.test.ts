import { expect, test } from "vitest";
import { Conversation, isType, messagesOf } from "./support/conversation.ts";
import { useWorld } from "./support/world.ts";

// The strict double refuses what the real API would, and the file fails on a refusal.
const world = useWorld();

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = Buffer.from("%PDF-1.4\ntrailer<</Root 1 0 R>>\n%%EOF").toString("base64");

test("everything that a message may hold reaches the model as it was sent", async () => {
  const talk = await Conversation.open(world());
  const content = [
    { type: "image" as const, source: base64("image/png", PNG) },
    { type: "image" as const, source: url("https://example.com/a.png") },
    { type: "document" as const, source: base64("application/pdf", PDF), title: "Paper" },
    { type: "document" as const, source: url("https://example.com/a.pdf"), context: "old" },
    { type: "document" as const, source: plain("some notes"), title: null, context: null },
    { type: "text" as const, text: "What is this?" },
  ];
  await world().client.beta.sessions.events.send(talk.id, {
    events: [{ type: "user.message", content }],
  });
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("session.error"))).toEqual([]);
  expect(messagesOf(history)).toEqual(["You said: What is this?"]);
  expect(world().model.requests.at(-1)?.body["messages"]).toEqual([
    { role: "user", content: content.map((block) => expect.objectContaining(block)) },
  ]);
});

function base64(media_type: string, data: string) {
  return { type: "base64" as const, media_type, data };
}

function url(address: string) {
  return { type: "url" as const, url: address };
}

function plain(data: string) {
  return { type: "text" as const, media_type: "text/plain" as const, data };
}
