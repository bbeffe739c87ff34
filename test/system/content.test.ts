import { toFile } from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { Conversation, isType, messagesOf } from "./support/conversation.ts";
import { UNREACHABLE } from "./support/last-words.ts";
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

test("content from the Files API reaches the model, until the file is deleted", async () => {
  const { client } = world();
  const upload = async (bytes: Buffer, name: string, type: string) =>
    await client.beta.files.upload({ file: await toFile(bytes, name, { type }) });
  const picture = await upload(Buffer.from(PNG, "base64"), "a.png", "image/png");
  const paper = await upload(Buffer.from(PDF, "base64"), "a.pdf", "application/pdf");
  const notes = await upload(Buffer.from("some notes"), "a.txt", "text/plain");
  const talk = await Conversation.open(world());
  const content = [
    { type: "image" as const, source: stored(picture.id) },
    { type: "document" as const, source: stored(paper.id), title: "Paper" },
    { type: "document" as const, source: stored(notes.id) },
    { type: "text" as const, text: "What is this?" },
  ];
  await client.beta.sessions.events.send(talk.id, { events: [{ type: "user.message", content }] });
  const history = await talk.afterTurns(1);
  expect(history.find(isType("user.message"))?.content).toEqual(content);
  const sent = () => world().model.requests.at(-1)?.body["messages"];
  expect(sent()).toMatchObject([
    {
      content: [
        { type: "image", source: base64("image/png", PNG) },
        { type: "document", source: base64("application/pdf", PDF), title: "Paper" },
        { type: "document", source: plain("some notes") },
        { type: "text" },
      ],
    },
  ]);
  await client.beta.files.delete(paper.id);
  await talk.say("and now?");
  expect(messagesOf(await talk.afterTurns(2)).at(-1)).toBe("You said: and now?");
  expect(JSON.stringify(sent())).toContain("A document was here. It was deleted.");
});

test("a system message is a turn of its own, for a model that takes such", async () => {
  const talk = await Conversation.open(world(), { model: "claude-opus-5-5" });
  const system = {
    type: "system.message" as const,
    content: [{ type: "text" as const, text: "Be brief." }],
  };
  const hello = {
    type: "user.message" as const,
    content: [{ type: "text" as const, text: "Hello" }],
  };
  const { events } = world().client.beta.sessions;
  const { data } = await events.send(talk.id, { events: [hello, system] });
  expect(data?.map((event) => event.type)).toEqual(["user.message", "system.message"]);
  const history = await talk.afterTurns(1);
  expect(history.find(isType("system.message"))).toMatchObject({ content: system.content });
  expect(messagesOf(history)).toEqual(["You said: Hello"]);
  expect(world().model.requests.at(-1)?.body["messages"]).toMatchObject([
    { role: "user" },
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
  ]);
  const other = await Conversation.open(world(), { model: "claude-sonnet-4-6" });
  await expect(events.send(other.id, { events: [hello, system] })).rejects.toMatchObject({
    status: 400,
    errorCode: "model_does_not_support_mid_conversation_system",
  });
});

test("what only the API can judge is left out once it was refused", async () => {
  const talk = await Conversation.open(world());
  const content = [
    { type: "image" as const, source: url(`https:${UNREACHABLE}a.png`) },
    { type: "text" as const, text: "What is this?" },
  ];
  await world().client.beta.sessions.events.send(talk.id, {
    events: [{ type: "user.message", content }],
  });
  const history = await talk.afterTurns(1);
  expect(messagesOf(history)).toEqual(["You said: What is this?"]);
  expect(history.filter(isType("session.error"))).toMatchObject([
    { error: { message: expect.stringContaining("not shown this content any more") } },
  ]);
  expect(history.find(isType("user.message"))?.content).toEqual(content);
  expect(JSON.stringify(world().model.requests.at(-1)?.body)).not.toContain("a.png");
});

function stored(file_id: string) {
  return { type: "file" as const, file_id };
}

function base64(media_type: string, data: string) {
  return { type: "base64" as const, media_type, data };
}

function url(address: string) {
  return { type: "url" as const, url: address };
}

function plain(data: string) {
  return { type: "text" as const, media_type: "text/plain" as const, data };
}
