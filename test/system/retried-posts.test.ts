import { expect, test } from "vitest";
import { Conversation, isType, MODEL, userMessage } from "./support/conversation.ts";
import { send, type WireAnswer } from "./support/wire.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test("a retried message takes effect once, also when the server was killed in between", async () => {
  const talk = await Conversation.open(world());
  const path = `/v1/sessions/${talk.id}/events`;
  const body = { events: [userMessage("only once")] };
  const first = await post(path, body, retry(0));
  await world().restart();
  const second = await post(path, body, retry(1));
  const third = await post(path, body, retry(2));
  expect([second.status, second.text, third.text]).toEqual([200, first.text, first.text]);
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("user.message"))).toHaveLength(1);
});

test("what is the same but no retry takes effect again", async () => {
  const talk = await Conversation.open(world());
  const path = `/v1/sessions/${talk.id}/events`;
  const body = { events: [userMessage("twice")] };
  const first = await post(path, body, retry(0));
  const second = await post(path, body, retry(0));
  expect(idOf(second)).not.toBe(idOf(first));
  const other = await post(path, { events: [userMessage("another")] }, retry(1));
  expect(other.status).toBe(200);
  await talk.event((event) => JSON.stringify(event).includes("another"));
  const messages = (await talk.history()).filter(isType("user.message"));
  expect(messages).toHaveLength(3);
});

test("a request with an idempotency key takes effect once, however it is counted", async () => {
  const key = { "idempotency-key": "of this very agent" };
  const body = { name: "once", model: MODEL };
  const first = await post("/v1/agents", body, key);
  await world().restart();
  const second = await post("/v1/agents", body, { ...key, ...retry(0) });
  expect([second.status, second.text]).toEqual([200, first.text]);
  const other = await post("/v1/agents", body, { "idempotency-key": "of another agent" });
  expect(JSON.parse(other.text).id).not.toBe(JSON.parse(first.text).id);
});

test("retries that run beside their first attempt take effect once", async () => {
  const talk = await Conversation.open(world());
  const path = `/v1/sessions/${talk.id}/events`;
  const body = { events: [userMessage("side by side")] };
  const key = { "idempotency-key": "side by side" };
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(path, body, key)));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  const history = await talk.afterTurns(1);
  expect(history.filter(isType("user.message"))).toHaveLength(1);
});

test("a request that was refused is judged anew when it is retried", async () => {
  const talk = await Conversation.open(world());
  const path = `/v1/sessions/${talk.id}/events`;
  const bad = { events: [{ type: "user.mesage" }] };
  expect((await post(path, bad, retry(0))).status).toBe(400);
  expect((await post(path, bad, retry(1))).status).toBe(400);
  const key = { "idempotency-key": "first bad, then good" };
  expect((await post(path, bad, key)).status).toBe(400);
  expect((await post(path, { events: [userMessage("good")] }, key)).status).toBe(200);
});

test("a retried deletion is told what the first was told", async () => {
  const talk = await Conversation.open(world());
  const path = `/v1/sessions/${talk.id}`;
  const remove = (count: number) =>
    send(world(), { method: "DELETE", path, headers: retry(count) });
  const first = await remove(0);
  expect([first.status, JSON.parse(first.text)]).toEqual([
    200,
    { id: talk.id, type: "session_deleted" },
  ]);
  expect((await remove(1)).text).toBe(first.text);
  expect((await remove(0)).status).toBe(404);
});

async function post(path: string, body: object, headers: Record<string, string>) {
  return await send(world(), { method: "POST", path, body, headers });
}

function retry(count: number): Record<string, string> {
  return { "x-stainless-retry-count": String(count) };
}

function idOf(answer: WireAnswer): string {
  return JSON.parse(answer.text).data[0].id;
}
