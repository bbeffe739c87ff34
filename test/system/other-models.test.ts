import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import {
  answer,
  type ChatCompletions,
  type MessagesRequest,
  startChatCompletions,
  startMessagesApi,
  toolCall,
} from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  Conversation,
  isType,
  messagesOf,
  resultsOf,
  userMessage,
} from "./support/conversation.ts";
import { lastWords, script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { World } from "./support/world.ts";

/** Characters of a conversation to which the model answers with one word. */
const MUCH = 20_000;
const PNG = "iVBORw0KGgo=";
/** Of the models file, in none of the answers that clients are given. */
const TITLE = "a-title-nobody-sees";

const folder = mkdtempSync(join(tmpdir(), "drover-models-"));
let chat: ChatCompletions;
let world: World;

beforeAll(async () => {
  const words = lastWords();
  const script = (request: MessagesRequest) =>
    JSON.stringify(request.body["messages"]).length > MUCH ? answer("Much.") : words(request);
  chat = await startChatCompletions({ script });
  const file = join(folder, "models.yaml");
  writeFileSync(
    file,
    `
providers:
  - name: local
    kind: chat_completions
    base_url: ${chat.url}
    api_key: { env: LOCAL_KEY }
    headers: { X-Title: ${TITLE} }
models:
  - id: local-small
    provider: local
    model: small:8b
    created_at: 2026-11-01
    aliases: [small]
    max_input_tokens: 32768
    max_tokens: 4096
    prices: { input: "0.1", output: "0.2" }
    can: { images: false, effort: false }
  - { id: local-unmeasured, provider: local, model: "small:8b", created_at: 2026-10-01 }
  - { id: local-hopeful, provider: local, model: "small:8b", can: { images: true } }
  - { id: local-large, provider: local, model: large, created_at: 2026-11-02 }
`,
  );
  world = new World(await startMessagesApi({ script: lastWords() }), {
    DROVER_MODELS_FILE: file,
    LOCAL_KEY: chat.apiKey,
  });
  await world.start();
});

afterAll(async () => {
  const refusals = [...chat.refusals, ...world.model.refusals].filter(
    // What the file does not tell, or tells wrongly, is found out by being refused.
    ({ rule }) => !["context-length", "image-unsupported"].includes(rule),
  );
  await world.close();
  await chat.close();
  rmSync(folder, { recursive: true });
  expect(refusals).toEqual([]);
});

test("models that are configured are listed, with what is known of them", async () => {
  const listed: Anthropic.ModelInfo[] = [];
  for await (const model of world.client.models.list({ limit: 1 })) listed.push(model);
  expect(listed.map(({ id }) => id)).toEqual([
    "offline/echo",
    "offline/script",
    "local-large",
    "local-small",
    "local-unmeasured",
    "local-hopeful",
  ]);
  const small = await world.client.models.retrieve("small");
  expect(small).toMatchObject({
    id: "local-small",
    max_input_tokens: 32_768,
    max_tokens: 4_096,
    capabilities: { image_input: { supported: false }, effort: { supported: false } },
  });
  expect(listed.find(({ id }) => id === "local-large")?.capabilities).toBeNull();
  expect(JSON.stringify([listed, small])).not.toContain(TITLE);
});

test("a session with tools runs on a chat completions API, and goes on after kill -9", async () => {
  const talk = await Conversation.open(world, { model: "small" });
  const command = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done";
  await talk.say(
    script(
      answer("Two at once.", toolCall("bash", { command }), toolCall("glob", { pattern: "*" })),
      answer("finished"),
    ),
  );
  await until("a call", async () => (await talk.history()).find(isType("agent.tool_use")));
  await world.restart();
  const history = await talk.afterTurns(1);
  expect(messagesOf(history)).toEqual(["Two at once.", "finished"]);
  expect(resultsOf(history).map(({ text }) => text.trim())).toContain("1\n2\n3\n4\n5\n6");
  expect(resultsOf(history)).toHaveLength(2);
  expect(chat.requests.at(-1)?.headers["x-title"]).toBe(TITLE);
  const session = await world.client.beta.sessions.retrieve(talk.id);
  expect(session.usage?.output_tokens).toBeGreaterThan(0);
});

test("an image for a model without images is told once, and the session goes on", async () => {
  const talk = await Conversation.open(world, { model: "local-small" });
  const source = { type: "base64" as const, media_type: "image/png" as const, data: PNG };
  const { content } = userMessage("What is this?");
  await world.client.beta.sessions.events.send(talk.id, {
    events: [{ type: "user.message", content: [{ type: "image", source }, ...content] }],
  });
  await talk.afterTurns(1);
  await talk.say("And now?");
  const history = await talk.afterTurns(2);
  expect(history.filter(isType("session.error")).map(({ error }) => error)).toEqual([
    {
      type: "unknown_error",
      message: expect.stringMatching(/^The model local-small takes no images:/),
      retry_status: { type: "retrying" },
    },
  ]);
  expect(messagesOf(history).at(-1)).toBe("You said: And now?");
});

test("an image that the file says a model can see, and it cannot, does not stop the session", async () => {
  const talk = await Conversation.open(world, { model: "local-hopeful" });
  const source = { type: "base64" as const, media_type: "image/png" as const, data: PNG };
  const { content } = userMessage("What is this?");
  await world.client.beta.sessions.events.send(talk.id, {
    events: [{ type: "user.message", content: [{ type: "image", source }, ...content] }],
  });
  await talk.afterTurns(1);
  await talk.say("And now?");
  const history = await talk.afterTurns(2);
  expect(messagesOf(history).at(-1)).toBe("You said: And now?");
  expect(history.filter(isType("session.error"))).not.toEqual([]);
  expect(chat.refusals.filter(({ rule }) => rule === "image-unsupported")).toHaveLength(1);
});

test("a server that fails in the middle is asked again, and the session says so", async () => {
  const talk = await Conversation.open(world, { model: "local-large" });
  const fault = { type: "cut" as const, afterEvents: 3, times: 1 };
  await talk.say(script({ ...answer("A sentence that breaks off at first."), fault }));
  const history = await talk.afterTurns(1);
  expect(messagesOf(history)).toEqual(["A sentence that breaks off at first."]);
  expect(history.filter(isType("session.error")).map(({ error }) => error.type)).toEqual([
    "model_request_failed_error",
  ]);
});

test("a conversation that outgrows a model whose window nobody told is compacted, and goes on", async () => {
  const talk = await Conversation.open(world, { model: "local-unmeasured" });
  const long = "a word and another ".repeat(2_500);
  for (const turn of [1, 2, 3, 4]) {
    await talk.say(`${long}${turn}`);
    await talk.afterTurns(turn);
  }
  const history = await talk.afterTurns(4);
  expect(messagesOf(history)).toEqual(["Much.", "Much.", "Much.", "Much."]);
  expect(history.filter(isType("agent.thread_context_compacted")).length).toBeGreaterThan(0);
  expect(chat.refusals.map(({ rule }) => rule)).toContain("context-length");
  expect(await talk.status()).toBe("idle");
});
