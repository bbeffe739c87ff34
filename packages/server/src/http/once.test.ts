import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { DELIVERED_KEPT_MS } from "./once.ts";
import { openWorld, type World } from "./world.testsuite.ts";

const AGENT = { name: "scout", model: "claude-opus-5" };
const attempt = (count: number) => ({ "x-stainless-retry-count": String(count) });

async function create(world: World, headers: Record<string, string>, body: object = AGENT) {
  const answer = await world.request("POST", "/v1/agents", body, headers);
  return answer.body.id;
}

async function agentCount(world: World) {
  return (await world.request("GET", "/v1/agents")).body.data.length;
}

test("a retry of what took effect gets that answer and no second effect", async () => {
  const world = await openWorld();
  const first = await create(world, attempt(0));
  expect(await create(world, attempt(1))).toBe(first);
  expect(await create(world, attempt(2))).toBe(first);
  expect(await agentCount(world)).toBe(1);
});

test("a retry of what never arrived takes effect", async () => {
  const world = await openWorld();
  const first = await create(world, attempt(1));
  expect(await create(world, attempt(2))).toBe(first);
  expect(await agentCount(world)).toBe(1);
});

test("the same request made anew takes effect again", async () => {
  const world = await openWorld();
  const first = await create(world, attempt(0));
  const second = await create(world, attempt(0));
  expect(second).not.toBe(first);
  expect(await create(world, attempt(1))).toBe(second);
  expect(await agentCount(world)).toBe(2);
});

test("another body, path or credential is another request", async () => {
  const world = await openWorld();
  const other = await world.addKey("developer", world.workspaceId);
  await create(world, attempt(0));
  await create(world, attempt(1), { ...AGENT, name: "other" });
  await create(world, { ...attempt(1), authorization: `Bearer ${other.key}` });
  expect(await agentCount(world)).toBe(3);
});

test("an attempt that is still under way when its retry comes counts once", async () => {
  const world = await openWorld();
  const ids = await Promise.all([create(world, attempt(0)), create(world, attempt(1))]);
  expect(new Set(ids).size).toBe(1);
  expect(await agentCount(world)).toBe(1);
});

test("what is stored of a request can be made of its body with the caller's key alone", async () => {
  const world = await openWorld();
  await create(world, attempt(0));
  const [stored] = await world.store.apiKeys.list(world.workspaceId);
  const isFound = async (key: string) => {
    const hash = createHmac("sha256", key);
    hash.update(JSON.stringify(["POST", "/v1/agents", "", null])).update(JSON.stringify(AGENT));
    const digest = hash.digest("hex");
    const since = new Date(0).toISOString();
    return world.store.write(async (tx) => {
      const found = await tx.answeredRequests.find(world.workspaceId, digest, since);
      return found !== undefined;
    });
  };
  expect(await isFound(world.key)).toBe(true);
  expect(await isFound(stored?.key_sha256 ?? "")).toBe(false);
  expect(await isFound(stored?.id ?? "")).toBe(false);
});

test("requests without a count or a key are never taken for one another", async () => {
  const world = await openWorld();
  await create(world, {});
  await create(world, {});
  expect(await agentCount(world)).toBe(2);
});

test("an idempotency key does the same for every client", async () => {
  const world = await openWorld();
  const first = await create(world, { "idempotency-key": "one" });
  expect(await create(world, { "idempotency-key": "one" })).toBe(first);
  expect(await create(world, { "idempotency-key": "two" })).not.toBe(first);
  expect(await agentCount(world)).toBe(2);
});

test("a refused request is not remembered", async () => {
  const world = await openWorld();
  const name = { name: "shared" };
  const { body } = await world.request("POST", "/v1/environments", name, attempt(0));
  const conflict = await world.request("POST", "/v1/environments", name, attempt(0));
  expect(conflict.status).toBe(409);
  await world.request("DELETE", `/v1/environments/${body.id}`);
  const made = await world.request("POST", "/v1/environments", name, attempt(0));
  expect(made.status).toBe(200);
});

test("a retried delete is answered as the first was", async () => {
  const world = await openWorld();
  const { body } = await world.request("POST", "/v1/sessions", await world.prepare());
  const path = `/v1/sessions/${body.id}`;
  const first = await world.request("DELETE", path, undefined, attempt(0));
  const retry = await world.request("DELETE", path, undefined, attempt(1));
  expect([retry.status, retry.body]).toEqual([200, first.body]);
});

test("a message is sent once although its answer was lost", async () => {
  const world = await openWorld();
  const { body: session } = await world.request("POST", "/v1/sessions", await world.prepare());
  const path = `/v1/sessions/${session.id}/events`;
  const events = [{ type: "user.message", content: [{ type: "text", text: "hi" }] }];
  const first = await world.request("POST", path, { events }, attempt(0));
  const retry = await world.request("POST", path, { events }, attempt(1));
  expect(retry.body).toEqual(first.body);
  expect((await world.request("GET", path)).body.data).toHaveLength(1);
});

test("after ten minutes the answer is forgotten", async () => {
  let now = Date.now();
  const world = await openWorld({ now: () => now });
  const first = await create(world, attempt(0));
  now += 9 * 60_000;
  expect(await create(world, attempt(1))).toBe(first);
  now += 2 * 60_000;
  expect(await create(world, attempt(1))).not.toBe(first);
});

test("the same request anew, whose first attempt was lost, is not taken for one long answered", async () => {
  let now = Date.now();
  const world = await openWorld({ now: () => now });
  const { url } = await world.listen();
  const send = async (count: number) => {
    const response = await fetch(`${url}/v1/agents`, {
      method: "POST",
      headers: {
        ...attempt(count),
        authorization: `Bearer ${world.key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(AGENT),
    });
    const { id } = (await response.json()) as { id: string };
    return id;
  };
  const first = await send(0);
  now += DELIVERED_KEPT_MS - 1;
  expect(await send(1)).toBe(first);
  now += DELIVERED_KEPT_MS + 1;
  expect(await send(1)).not.toBe(first);
});
