import { expect, test } from "vitest";
import { CHAT_MODELS } from "./models.ts";
import type { ChatRuleInput } from "./rules/rule.ts";
import { CHAT_RULES, judgeChat } from "./rules.ts";
import type { Json, JsonObject } from "./types.ts";

const KEY = "sk-test";
const LARGE = "large";
const SMALL = "small:8b";
const PNG = "data:image/png;base64,iVBORw0KGgo=";

interface Case {
  readonly body?: Json;
  readonly rawBytes?: number;
  readonly parseError?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly refuses?: readonly string[];
  readonly toolless?: boolean;
}

/** For each rule a request that breaks it and, next to it, one that does not. */
const CASES: Readonly<Record<string, { breaks: Case; near: Case }>> = {
  "auth-missing": {
    breaks: { headers: { "content-type": "application/json" } },
    near: {},
  },
  "auth-invalid": {
    breaks: { headers: { ...headers(), authorization: "Bearer sk-wrong" } },
    near: { headers: headers() },
  },
  "content-type": {
    breaks: { headers: { ...headers(), "content-type": "text/plain" } },
    near: { headers: { ...headers(), "content-type": "application/json; charset=utf-8" } },
  },
  "body-too-large": {
    breaks: { rawBytes: 32 * 1024 * 1024 + 1 },
    near: { rawBytes: 32 * 1024 * 1024 },
  },
  "body-json": { breaks: { parseError: "Unexpected end" }, near: {} },
  "body-object": { breaks: { body: [] }, near: { body: request() } },
  "field-unknown": pair({ system: "x" }, { temperature: 0.5 }),
  "field-unsupported": {
    breaks: { body: request({ stream: true, stream_options: {} }), refuses: ["stream_options"] },
    near: { body: request({ stream: true }), refuses: ["stream_options"] },
  },
  "model-unknown": pair({ model: "none" }, { model: SMALL }),
  "stream-options": pair(
    { stream_options: { include_usage: true } },
    { stream: true, stream_options: { include_usage: true } },
  ),
  "max-tokens": pair({ max_tokens: 64_001 }, { max_completion_tokens: 64_000 }),
  "max-tokens-twice": pair({ max_tokens: 1, max_completion_tokens: 1 }, { max_tokens: 1 }),
  effort: pair({ model: SMALL, reasoning_effort: "low" }, { reasoning_effort: "low" }),
  "parallel-without-tools": pair(
    { parallel_tool_calls: false },
    { parallel_tool_calls: false, tools: [tool("bash")] },
  ),
  "messages-empty": pair({ messages: [] }, { messages: [user("x")] }),
  "message-role": said({ role: "human", content: "x" }, { role: "developer", content: "x" }),
  "message-content": said({ role: "assistant", content: null }, { role: "assistant", content: "" }),
  "part-type": said(
    { role: "system", content: [{ type: "image_url", image_url: { url: PNG } }] },
    { role: "user", content: [{ type: "image_url", image_url: { url: PNG } }] },
  ),
  "image-url": said(image("data:image/bmp;base64,AAAA"), image("https://example.com/a.png")),
  "image-unsupported": pair(
    { model: SMALL, messages: [image(PNG)] },
    { model: LARGE, messages: [image(PNG)] },
  ),
  "file-unsupported": pair(
    { model: SMALL, messages: [{ role: "user", content: [{ type: "file", file: {} }] }] },
    { model: LARGE, messages: [{ role: "user", content: [{ type: "file", file: {} }] }] },
  ),
  "call-shape": answered({ arguments: { a: 1 } }, { arguments: '{"a":1}' }),
  "call-name": answered({ name: "a tool" }, { name: "a-tool" }),
  "call-arguments": answered({ arguments: '{"a":' }, { arguments: "{}" }),
  "tools-empty": pair({ tools: [] }, { tools: [tool("a")] }),
  "tools-unsupported": {
    breaks: { body: request({ tools: [tool("a")] }), toolless: true },
    near: { body: request(), toolless: true },
  },
  "tool-shape": pair(
    { tools: [{ type: "function", function: { name: "a", parameters: { type: "string" } } }] },
    { tools: [tool("a")] },
  ),
  "tool-name": pair({ tools: [tool("x".repeat(65))] }, { tools: [tool("x".repeat(64))] }),
  "tool-orphan": pair(
    { messages: [user("x"), result("a")] },
    { messages: [user("x"), calls("a"), result("a")] },
  ),
  "tool-unanswered": pair(
    { messages: [calls("a", "b"), result("a"), user("x")] },
    { messages: [calls("a", "b"), result("a"), result("b"), user("x")] },
  ),
  "tool-answered-twice": pair(
    { messages: [calls("a"), result("a"), result("a")] },
    { messages: [calls("a"), result("a"), calls("a"), result("a")] },
  ),
  "tool-order": pair(
    { messages: [calls("a", "b"), result("b"), result("a")] },
    { messages: [calls("b", "a"), result("b"), result("a")] },
  ),
  "call-id-unique": pair(
    { messages: [calls("a", "a"), result("a")] },
    { messages: [calls("a"), result("a")] },
  ),
  "context-length": pair(
    { model: SMALL, messages: [user("x".repeat(4 * 32_768))] },
    { model: LARGE, messages: [user("x".repeat(4 * 32_768))] },
  ),
};

test("every rule has a request that breaks it, an accepted neighbour, and a source", () => {
  expect(CHAT_RULES.map(({ id }) => id).toSorted()).toEqual(Object.keys(CASES).toSorted());
  expect(CHAT_RULES.filter(({ source }) => source.length < 10)).toEqual([]);
});

test.each(Object.entries(CASES))("%s is refused, and its neighbour is not", (id, cases) => {
  expect(judgeChat(input(cases.breaks))?.rule.id).toBe(id);
  expect(judgeChat(input(cases.near))).toBeUndefined();
});

test("no body makes a rule throw", () => {
  const odd: Json[] = [null, 1, "x", [], {}, { messages: [null, 1, { role: 7, content: [1] }] }];
  for (const body of odd) {
    for (const rule of CHAT_RULES) expect(() => rule.check(input({ body }))).not.toThrow();
  }
});

function input({ body = request(), toolless = false, ...given }: Case): ChatRuleInput {
  const name = typeof body === "object" && body !== null && "model" in body ? body["model"] : "";
  const model = CHAT_MODELS.find(({ id }) => id === name);
  return {
    headers: given.headers ?? headers(),
    rawBytes: given.rawBytes ?? 100,
    body: given.parseError === undefined ? body : undefined,
    parseError: given.parseError,
    model: model && toolless ? { ...model, tools: false } : model,
    apiKey: KEY,
    refuses: given.refuses ?? [],
  };
}

function headers() {
  return { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
}

function request(over: JsonObject = {}): JsonObject {
  return { model: LARGE, messages: [user("hello")], ...over };
}

function pair(breaks: JsonObject, near: JsonObject) {
  return { breaks: { body: request(breaks) }, near: { body: request(near) } };
}

function said(breaks: JsonObject, near: JsonObject) {
  return pair({ messages: [user("a"), breaks] }, { messages: [user("a"), near] });
}

function answered(breaks: JsonObject, near: JsonObject) {
  const call = (over: JsonObject) => ({
    role: "assistant",
    tool_calls: [
      { id: "a", type: "function", function: { name: "bash", arguments: "{}", ...over } },
    ],
  });
  return pair({ messages: [call(breaks), result("a")] }, { messages: [call(near), result("a")] });
}

function user(content: string): JsonObject {
  return { role: "user", content };
}

function image(url: string): JsonObject {
  return { role: "user", content: [{ type: "image_url", image_url: { url } }] };
}

function calls(...ids: readonly string[]): JsonObject {
  const tool_calls = ids.map((id) => ({
    id,
    type: "function",
    function: { name: "bash", arguments: "{}" },
  }));
  return { role: "assistant", content: "", tool_calls };
}

function result(id: string): JsonObject {
  return { role: "tool", tool_call_id: id, content: "ok" };
}

function tool(name: string): JsonObject {
  return { type: "function", function: { name, parameters: { type: "object" } } };
}
