import { beforeAll, describe, expect, test } from "vitest";
import { Conversation, MODEL, messagesOf } from "./support/conversation.ts";
import { errorOf, send, type WireRequest } from "./support/wire.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let talk: Conversation;

beforeAll(async () => {
  talk = await Conversation.open(world());
});

const AGENT = { name: "worker", model: MODEL };
const toolset = (more: object) => ({
  ...AGENT,
  tools: [{ type: "agent_toolset_20260401", ...more }],
});
const events = (...list: unknown[]) => ({ events: list });
const says = (...content: unknown[]) => events({ type: "user.message", content });
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

type Case = readonly [what: string, body: WireRequest["body"], status: number, names: RegExp];

const AGENT_CASES: readonly Case[] = [
  ["JSON that is cut off", '{"name": "wor', 400, /not valid JSON/],
  ["a list instead of an object", "[]", 400, /object/],
  ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), 400, /UTF-8/],
  ["JSON that is nested a hundred thousand deep", nested(100_000), 400, /nested|object|deep/],
  ["nothing", {}, 400, /name/],
  ["a number as name", { ...AGENT, name: 1 }, 400, /name/],
  ["an empty name", { ...AGENT, name: "" }, 400, /name/],
  ["a name of a million characters", { ...AGENT, name: "x".repeat(1e6) }, 400, /name/],
  ["a NUL byte", { ...AGENT, system: "a\0b" }, 400, /system/],
  ["a lone surrogate", `{"name":"\\ud800","model":"${MODEL}"}`, 400, /name/],
  ["a key with a NUL byte", { ...AGENT, metadata: { "a\0": "b" } }, 400, /metadata/],
  ["an unknown field", { ...AGENT, colour: "red" }, 400, /colour/],
  ["a tool of an unknown type", { ...AGENT, tools: [{ type: "toolset" }] }, 400, /tools\.0/],
  [
    "a misspelt permission policy, which must not become none",
    toolset({ default_config: { permission_polcy: { type: "always_ask" } } }),
    400,
    /permission_polcy/,
  ],
  [
    "a misspelt policy of one tool",
    toolset({ configs: [{ name: "bash", permission_polcy: { type: "always_ask" } }] }),
    400,
    /permission_polcy/,
  ],
  ["a tool that does not exist", toolset({ configs: [{ name: "bsh" }] }), 400, /configs\.0/],
  ["metadata that is no text", { ...AGENT, metadata: { a: 1 } }, 400, /metadata/],
  [
    "a metadata key from the prototype",
    '{"name":"a","model":"m","__proto__":{}}',
    400,
    /unusable name/,
  ],
];

const EVENT_CASES: readonly Case[] = [
  ["no events", events(), 400, /events/],
  ["an event that is no object", events("hello"), 400, /events\.0/],
  ["an unknown event", events({ type: "user.mesage", content: [] }), 400, /events\.0\.type/],
  ["a server's event", events({ type: "agent.message", content: [] }), 400, /events\.0\.type/],
  ["no content", says(), 400, /events\.0\.content/],
  ["empty text", says({ type: "text", text: "" }), 400, /events\.0\.content\.0\.text/],
  ["blank text", says({ type: "text", text: " \n" }), 400, /events\.0\.content\.0\.text/],
  ["text of separators", says({ type: "text", text: "\u001c\u0085" }), 400, /content\.0\.text/],
  ["text with a NUL byte", says({ type: "text", text: "a\0" }), 400, /content\.0\.text/],
  ["a block of no type", says({ text: "a" }), 400, /content\.0\.type/],
  ["a withheld block", says({ type: "redacted" }), 400, /content\.0\.type/],
  [
    "an image that is none",
    says({ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }),
    400,
    /content\.0\.source\.data/,
  ],
  [
    "a result for a call that nobody made",
    events({ type: "user.custom_tool_result", custom_tool_use_id: "sevt_nobody" }),
    400,
    /custom_tool_use_id/,
  ],
  [
    "an interrupt of a thread of somebody else",
    events({ type: "user.interrupt", session_thread_id: "sthr_nobody" }),
    400,
    /session_thread_id/,
  ],
  [
    "one bad event behind a good one",
    events({ type: "user.interrupt" }, { type: "user.mesage" }),
    400,
    /events\.1/,
  ],
];

describe("creating an agent", () => {
  test.each(AGENT_CASES)("answers %s with the field's name", async (_, body, status, names) => {
    const answer = await send(world(), { method: "POST", path: "/v1/agents", body });
    expect([answer.status, errorOf(answer).type]).toEqual([status, "invalid_request_error"]);
    expect(errorOf(answer).message).toMatch(names);
    expect(answer.text.length).toBeLessThan(5_000);
  });

  test("of 33 MB is refused as too large, declared or not", async () => {
    const large = JSON.stringify({ ...AGENT, system: "x".repeat(33 * 1024 * 1024) });
    const path = "/v1/agents";
    const declared = await send(world(), { method: "POST", path, body: large });
    expect([declared.status, errorOf(declared).type]).toEqual([413, "request_too_large"]);
    const chunked = await fetch(world().url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${world().apiKey}`, "content-type": "application/json" },
      body: new Blob([large]).stream(),
      duplex: "half",
    } as RequestInit);
    expect([chunked.status, (await chunked.json()) as object]).toMatchObject([
      413,
      { type: "error" },
    ]);
    // The same connection, which must not have died with the body.
    expect((await fetch(`${world().url}/health`)).status).toBe(200);
  });
});

describe("sending events", () => {
  test.each(EVENT_CASES)("answers %s with the field's name", async (_, body, status, names) => {
    const path = `/v1/sessions/${talk.id}/events`;
    const answer = await send(world(), { method: "POST", path, body });
    expect([answer.status, errorOf(answer).type]).toEqual([status, "invalid_request_error"]);
    expect(errorOf(answer).message).toMatch(names);
  });

  test("takes nothing of what was refused, and the session works on", async () => {
    expect(await talk.history()).toEqual([]);
    await talk.say("hello");
    expect(messagesOf(await talk.afterTurns(1))).toEqual(["You said: hello"]);
  });

  test("keeps what only looks odd exactly as it was sent", async () => {
    const odd = await Conversation.open(world());
    const text = "\u2028 \u0001 \ufeff \ufffd 👩‍👩‍👧 <script> \\u0000 ' \" $ {x} \u202e";
    await odd.say(text);
    expect(messagesOf(await odd.afterTurns(1))).toEqual([`You said: ${text}`]);
  });
});

describe("an address", () => {
  test.each([
    ["GET", "/v1/agents/agent_nobody", 404],
    ["GET", "/v1/agents/agent_nobody/versions", 404],
    ["POST", "/v1/agents/agent_nobody/archive", 404],
    ["GET", "/v1/environments/env_nobody", 404],
    ["DELETE", "/v1/environments/env_nobody", 404],
    ["GET", "/v1/sessions/sesn_nobody", 404],
    ["GET", "/v1/sessions/sesn_nobody/events", 404],
    ["GET", "/v1/sessions/sesn_nobody/events/stream", 404],
    ["GET", "/v1/sessions/sesn_nobody/threads", 404],
    ["DELETE", "/v1/sessions/sesn_nobody", 404],
    ["GET", "/v1/files/file_nobody", 404],
    ["GET", "/v1/files/file_nobody/content", 404],
    ["GET", "/v1/models/nobody", 404],
    ["GET", "/v1/nowhere", 404],
    ["GET", "/v1/agents/%00", 404],
    ["GET", "/v1/agents/%ff", 404],
    ["GET", `/v1/agents/${"x".repeat(10_000)}`, 404],
    ["GET", "/v1/agents/..%2f..%2fetc%2fpasswd", 404],
    ["GET", "/v1/agents?limit=0", 400],
    ["GET", "/v1/agents?limit=1e99", 400],
    ["GET", "/v1/agents?page=nonsense", 400],
    ["GET", "/v1/agents?limit=1&limit=2", 400],
    ["GET", "/v1/agents?colour=red", 400],
    ["GET", "/v1/sessions?created_at[gte]=yesterday", 400],
    ["GET", "/v1/sessions?statuses[]=asleep", 400],
  ])("%s %s is answered with an error of the contract", async (method, path, status) => {
    const answer = await send(world(), { method, path });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toEqual({
      type: "error",
      request_id: answer.headers["request-id"],
      error: {
        type: status === 404 ? "not_found_error" : "invalid_request_error",
        message: expect.any(String),
      },
    });
  });

  test("that belongs to another key's workspace, or comes without a key, is closed", async () => {
    const path = "/v1/agents";
    const asked = (headers: Record<string, string>) =>
      send(world(), { method: "GET", path, headers });
    expect((await asked({ authorization: "" })).status).toBe(401);
    expect((await asked({ authorization: "Basic YTpi" })).status).toBe(401);
    expect((await asked({ authorization: `Bearer ${"x".repeat(7_000)}` })).status).toBe(401);
    expect((await asked({ "anthropic-workspace-id": "wrkspc_other" })).status).toBe(403);
  });
});
