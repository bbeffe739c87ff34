import { expect, test } from "vitest";
import { MODELS } from "./models.ts";
import { judge, judgeCount, RULES } from "./rules.ts";
import { Signer } from "./signature.ts";
import type { Json, JsonObject } from "./types.ts";

const signer = new Signer("test");
const KEY = "sk-ant-api03-test";
const CURRENT = "claude-opus-5-5";
const MIDDLE = "claude-sonnet-4-6";
const OLD = "claude-haiku-4-5";
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = Buffer.from("%PDF-1.4\n").toString("base64");

interface Case {
  readonly body?: Json;
  readonly raw?: string;
  readonly rawBytes?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contextTokens?: number;
}

/** For each rule a request that breaks it and, next to it, one that does not. */
const CASES: Readonly<Record<string, { breaks: Case; near: Case }>> = {
  "auth-missing": {
    breaks: { headers: { "anthropic-version": "2023-06-01" } },
    near: { headers: { "anthropic-version": "2023-06-01", authorization: `Bearer ${KEY}` } },
  },
  "auth-invalid": {
    breaks: { headers: { "anthropic-version": "2023-06-01", "x-api-key": "sk-wrong" } },
    near: { headers: { "anthropic-version": "2023-06-01", "x-api-key": KEY } },
  },
  "version-missing": {
    breaks: { headers: { "x-api-key": KEY } },
    near: { headers: { "x-api-key": KEY, "anthropic-version": "2023-06-01" } },
  },
  "version-unknown": {
    breaks: { headers: { "x-api-key": KEY, "anthropic-version": "2026-01-01" } },
    near: { headers: { "x-api-key": KEY, "anthropic-version": "2023-01-01" } },
  },
  "body-too-large": {
    breaks: { rawBytes: 32 * 1024 * 1024 + 1 },
    near: { rawBytes: 32 * 1024 * 1024 },
  },
  "body-json": { breaks: { raw: "{" }, near: { raw: JSON.stringify(request()) } },
  "body-surrogate": {
    breaks: { body: request({ messages: [user("a \ud83d b")] }) },
    near: { body: request({ messages: [user("a 😀 b")] }) },
  },
  "body-nul": {
    breaks: { body: request({ messages: [user("a\0b")] }) },
    near: { body: request({ messages: [user("a\\0b")] }) },
  },
  "body-object": { breaks: { body: [] }, near: { body: request() } },
  "field-unknown": pair({ mesages: [] }, { stream: true }),
  "model-required": pair({ model: 5 }, { model: OLD }),
  "model-unknown": pair({ model: "claude-none" }, { model: MIDDLE }),
  "max-tokens-required": pair({ max_tokens: 1.5 }, { max_tokens: 1 }),
  "max-tokens-range": pair({ max_tokens: 128_001 }, { max_tokens: 128_000 }),
  "messages-required": pair({ messages: "hello" }, { messages: [user("hello")] }),
  "messages-empty": pair({ messages: [] }, { messages: [user("hello")] }),
  "messages-count": pair(
    { messages: Array.from({ length: 100_001 }, () => user("a")) },
    { messages: Array.from({ length: 10 }, () => user("a")) },
  ),
  stream: pair({ stream: "yes" }, { stream: false }),
  "service-tier": pair({ service_tier: "batch" }, { service_tier: "auto" }),
  speed: {
    breaks: { body: request({ speed: "slow" }), headers: fastHeaders() },
    near: { body: request({ speed: "standard" }), headers: fastHeaders() },
  },
  "speed-beta": {
    breaks: { body: request({ speed: "fast" }) },
    near: { body: request({ speed: "fast" }), headers: fastHeaders() },
  },
  metadata: pair({ metadata: { session: "1" } }, { metadata: { user_id: "1" } }),
  "stop-sequences": pair({ stop_sequences: [" "] }, { stop_sequences: ["END"] }),
  effort: pair(
    { model: OLD, output_config: { effort: "high" } },
    { model: MIDDLE, output_config: { effort: "high" } },
  ),
  "output-config-unknown": pair(
    { output_config: { length: 1 } },
    { output_config: { effort: "low" } },
  ),
  "sampling-removed": {
    breaks: { body: request({ model: OLD, temperature: 1 }), headers: newest() },
    near: { body: request({ model: OLD, temperature: 1 }) },
  },
  "sampling-range": pair({ model: OLD, temperature: 1.1 }, { model: OLD, temperature: 1 }),
  "sampling-unsupported": pair(
    { model: CURRENT, temperature: 0.5 },
    { model: OLD, temperature: 0.5 },
  ),
  "message-shape": pair(
    { messages: [{ role: "user", content: "a", name: "b" }] },
    { messages: [{ role: "user", content: "a" }] },
  ),
  "message-role": pair(
    { messages: [{ role: "tool", content: "a" }] },
    { messages: [{ role: "user", content: "a" }] },
  ),
  "first-user": pair(
    { messages: [assistant("a"), user("b")] },
    { messages: [user("a"), user("b"), assistant("c"), assistant("d"), user("e")] },
  ),
  "system-message-model": pair(
    { model: MIDDLE, messages: [user("a"), { role: "system", content: "b" }] },
    { model: CURRENT, messages: [user("a"), { role: "system", content: "b" }] },
  ),
  "system-message-place": pair(
    { messages: [user("a"), { role: "system", content: "b" }, user("c")] },
    { messages: [user("a"), { role: "system", content: "b" }, assistant("c"), user("d")] },
  ),
  "content-empty": pair(
    { messages: [user("a"), assistant([]), user("b")] },
    { model: OLD, messages: [user("a"), assistant([])] },
  ),
  "text-empty": pair(
    { messages: [user([text(""), text("a")])] },
    { messages: [user([text("a")])] },
  ),
  "text-whitespace": pair(
    { messages: [user([text(" ")])] },
    { messages: [user([text(" "), text("a")])] },
  ),
  "prefill-unsupported": pair(
    { model: MIDDLE, messages: [user("a"), assistant("b")] },
    { model: OLD, messages: [user("a"), assistant("b")] },
  ),
  "prefill-whitespace": pair(
    { model: OLD, messages: [user("a"), assistant("b ")] },
    { model: OLD, messages: [user("a "), assistant("b")] },
  ),
  "system-shape": pair({ system: [image()] }, { system: [text("a")] }),
  "system-empty": pair({ system: [text(" ")] }, { system: "a" }),
  "block-type": pair({ messages: [user([{ type: "video" }])] }, { messages: [user([image()])] }),
  "block-field-required": pair(
    { messages: [user([{ type: "text" }])] },
    { messages: [user([text("a")])] },
  ),
  "block-field-type": pair(
    { messages: [user([{ type: "text", text: 1 }])] },
    { messages: [user([text("1")])] },
  ),
  "block-field-unknown": pair(
    { messages: [user([{ ...text("a"), index: 0 }])] },
    { messages: [user([{ ...text("a"), citations: [] }])] },
  ),
  "block-role": pair(
    { messages: [user([toolUse("1")])] },
    { messages: [user("a"), assistant([toolUse("1")]), user([toolResult("1")])] },
  ),
  "citations-user": {
    breaks: { body: request({ messages: [user([cited("a")])] }), headers: newest() },
    near: { body: request({ messages: [user([cited("a")])] }) },
  },
  "tool-result-content": pair(afterCall(toolResult("1", [toolUse("2")])), {
    messages: called(toolResult("1", [text("a"), image()])),
  }),
  "tool-result-content-shape": pair(afterCall(toolResult("1", [{ ...text("a"), extra: true }])), {
    messages: called(toolResult("1", [text("a")])),
  }),
  "tool-result-error-text": pair(
    afterCall({ ...toolResult("1", [text("a"), image()]), is_error: true }),
    afterCall({ ...toolResult("1", [text("a")]), is_error: true }),
  ),
  "tool-result-error-empty": pair(
    afterCall({ ...toolResult("1"), content: [], is_error: true }),
    afterCall({ ...toolResult("1"), content: [] }),
  ),
  "tools-shape": pair({ tools: {} }, { tools: [] }),
  "tool-type": pair(
    { tools: [{ ...tool("a"), type: "function" }] },
    { tools: [{ ...tool("a"), type: "custom" }] },
  ),
  "tool-name": pair({ tools: [tool("a b")] }, { tools: [tool("a_b-C1")] }),
  "tool-names-unique": pair({ tools: [tool("a"), tool("a")] }, { tools: [tool("a"), tool("A")] }),
  "tool-description": pair(
    { tools: [{ ...tool("a"), description: null }] },
    { tools: [{ ...tool("a"), description: "" }] },
  ),
  "tool-field-unknown": pair(
    { tools: [{ ...tool("a"), parameters: {} }] },
    { tools: [{ ...tool("a"), strict: true }] },
  ),
  "input-schema-object": pair(
    { tools: [{ ...tool("a"), input_schema: { type: "string" } }] },
    { tools: [{ ...tool("a"), input_schema: { type: "object" } }] },
  ),
  "input-schema-union": pair(
    { tools: [{ ...tool("a"), input_schema: { type: "object", anyOf: [] } }] },
    {
      tools: [{ ...tool("a"), input_schema: { type: "object", properties: { a: { anyOf: [] } } } }],
    },
  ),
  "input-schema-property": pair(
    { tools: [{ ...tool("a"), input_schema: { type: "object", properties: { "a b": {} } } }] },
    { tools: [{ ...tool("a"), input_schema: { type: "object", properties: { "a.b": {} } } }] },
  ),
  "tool-choice": pair(
    { tools: [tool("a")], tool_choice: { type: "tool" } },
    { tools: [tool("a")], tool_choice: { type: "tool", name: "a" } },
  ),
  "tool-choice-without-tools": pair(
    { tools: [], tool_choice: { type: "any" } },
    { tools: [tool("a")], tool_choice: { type: "any" } },
  ),
  "tool-choice-known": pair(
    { tools: [tool("a")], tool_choice: { type: "tool", name: "b" } },
    { tools: [tool("a")], tool_choice: { type: "none" } },
  ),
  "tool-use-id-pattern": pair(
    { messages: [user("a"), assistant([toolUse("1:2")]), user([toolResult("1:2")])] },
    { messages: [user("a"), assistant([toolUse("1-2")]), user([toolResult("1-2")])] },
  ),
  "tools-defined": pair(
    { tools: [], messages: [user("a"), assistant([toolUse("1")]), user([toolResult("1")])] },
    { tools: [], messages: [user("a"), assistant("b"), user("c")] },
  ),
  "tool-use-name": pair(
    {
      messages: [
        user("a"),
        assistant([{ ...toolUse("1"), name: "n".repeat(201) }]),
        user([toolResult("1")]),
      ],
    },
    {
      messages: [
        user("a"),
        assistant([{ ...toolUse("1"), name: "n".repeat(200) }]),
        user([toolResult("1")]),
      ],
    },
  ),
  "tool-use-unique": pair(
    { messages: [...called(toolResult("1")), ...called(toolResult("1")).slice(1)] },
    {
      messages: [
        ...called(toolResult("1")),
        assistant([toolUse("2"), toolUse("3")]),
        user([toolResult("3"), toolResult("2")]),
      ],
    },
  ),
  "tool-use-answered": pair(
    { messages: [user("a"), assistant([toolUse("1"), toolUse("2")]), user([toolResult("1")])] },
    { messages: called(toolResult("1")) },
  ),
  "tool-result-known": pair(
    { messages: [user("a"), assistant("b"), user([toolResult("1")])] },
    { messages: [...called(toolResult("1")), user("and more")] },
  ),
  "tool-result-single": pair(
    { messages: called(toolResult("1"), toolResult("1")) },
    { messages: called(toolResult("1"), text("and more")) },
  ),
  "tool-result-first": pair(
    { messages: called(text("first"), toolResult("1")) },
    { messages: called(toolResult("1"), text("then")) },
  ),
  "cache-control-shape": pair(
    { messages: [user([marked("a", { type: "ephemeral", ttl: "1d" })])] },
    { messages: [user([marked("a", { type: "ephemeral", ttl: "1h" })])] },
  ),
  "cache-control-count": pair(
    { system: [marked("s")], messages: [user(["a", "b", "c", "d"].map((it) => marked(it)))] },
    { messages: [user(["a", "b", "c", "d"].map((it) => marked(it)))] },
  ),
  "cache-control-empty-text": pair({ system: [marked(""), text("a")] }, { system: [marked("a")] }),
  "cache-control-ttl-order": pair(
    { system: [marked("a")], messages: [user([marked("b", { type: "ephemeral", ttl: "1h" })])] },
    { system: [marked("a", { type: "ephemeral", ttl: "1h" })], messages: [user([marked("b")])] },
  ),
  "image-source": pair(
    { messages: [user([{ type: "image", source: { type: "path" } }])] },
    { messages: [user([{ type: "image", source: { type: "url", url: "https://a.example/b" } }])] },
  ),
  "image-media-type": pair(
    { messages: [user([image({ media_type: "image/svg+xml" })])] },
    { messages: [user([image({ media_type: "image/png" })])] },
  ),
  "image-base64": pair(
    { messages: [user([image({ data: `${PNG.slice(0, 8)}\n${PNG.slice(8)}` })])] },
    { messages: [user([image()])] },
  ),
  "image-size": pair(
    { messages: [user([image({ data: PNG.slice(0, 88) + "A".repeat(13_981_016) })])] },
    { messages: [user([image({ data: PNG.slice(0, 88) + "A".repeat(1_000) })])] },
  ),
  "image-is-its-type": pair(
    { messages: [user([image({ media_type: "image/jpeg" })])] },
    { messages: [user([image()])] },
  ),
  "document-source": pair(
    { messages: [user([{ type: "document", source: { type: "path" } }])] },
    { messages: [user([{ type: "document", source: { type: "file", file_id: "f" } }])] },
  ),
  "document-media-type": pair(
    { messages: [user([textDocument("text/markdown")])] },
    { messages: [user([textDocument("text/plain")])] },
  ),
  "document-pdf": pair(
    { messages: [user([pdf(Buffer.from("hello").toString("base64"))])] },
    { messages: [user([pdf(PDF)])] },
  ),
  "thinking-type": pair({ thinking: { type: "on" } }, { thinking: { type: "disabled" } }),
  "thinking-model": pair(
    { model: CURRENT, thinking: { type: "enabled", budget_tokens: 1024 } },
    { model: CURRENT, thinking: { type: "adaptive" } },
  ),
  "thinking-budget-minimum": pair(
    { ...budgeted(), thinking: { type: "enabled", budget_tokens: 1023 } },
    { ...budgeted(), thinking: { type: "enabled", budget_tokens: 1024 } },
  ),
  "thinking-budget-maximum": pair(
    { model: OLD, max_tokens: 2000, thinking: { type: "enabled", budget_tokens: 2000 } },
    { model: OLD, max_tokens: 2001, thinking: { type: "enabled", budget_tokens: 2000 } },
  ),
  "thinking-sampling": pair(
    { model: MIDDLE, thinking: { type: "adaptive" }, temperature: 0.5 },
    { model: MIDDLE, thinking: { type: "adaptive" }, temperature: 1 },
  ),
  "thinking-forced-tool": pair(
    { tools: [tool("a")], thinking: { type: "adaptive" }, tool_choice: { type: "any" } },
    { tools: [tool("a")], thinking: { type: "adaptive" }, tool_choice: { type: "auto" } },
  ),
  "thinking-signature": pair(
    { messages: thought({ ...thinking("a"), thinking: "a " }) },
    { messages: thought(thinking("a")) },
  ),
  "thinking-kept": pair(
    { messages: usedAfter(["a", "b"], [thinking("b")]) },
    { messages: usedAfter(["a", "b"], [thinking("a"), thinking("b")]) },
  ),
  "thinking-not-last": pair(
    { messages: [user("a"), assistant([text("b"), thinking("c")]), user("d")] },
    { messages: [user("a"), assistant([thinking("c"), text("b")]), user("d")] },
  ),
  "thinking-first": pair(
    { ...budgeted(), messages: called(toolResult("1")) },
    { ...budgeted(), messages: thought(thinking("a")) },
  ),
  "prompt-too-long": {
    breaks: { body: request({ messages: [user("a".repeat(4_000))] }), contextTokens: 1_000 },
    near: { body: request({ messages: [user("a".repeat(3_200))] }), contextTokens: 1_000 },
  },
  "output-does-not-fit": {
    breaks: { body: request({ max_tokens: 990 }), contextTokens: 990 },
    near: { body: request({ max_tokens: 900 }), contextTokens: 990 },
  },
};

test("there are at least forty rules, with ids of their own and a source each", () => {
  expect(RULES.length).toBeGreaterThanOrEqual(40);
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  expect(RULES.filter(({ source, description }) => source === "" || description === "")).toEqual(
    [],
  );
});

test("each rule has a case, and each case a rule", () => {
  expect(Object.keys(CASES).toSorted()).toEqual(RULES.map(({ id }) => id).toSorted());
});

test.each(RULES.map(({ id }) => id))(
  "%s refuses what breaks it and accepts its neighbour",
  (id) => {
    const { breaks, near } = CASES[id] ?? { breaks: {}, near: {} };
    expect({ breaks: ruleOf(breaks), near: ruleOf(near) }).toEqual({ breaks: id, near: undefined });
  },
);

test("a request that only counts has its own fields, and may be of any size", () => {
  const { max_tokens: _, ...counted } = request({ messages: [user("a".repeat(4_000))] });
  const count = (body: Json) => judgeCount(inputOf({ body, contextTokens: 1_000 }))?.rule.id;
  expect(count(counted)).toBeUndefined();
  expect(count({ ...counted, max_tokens: 100 })).toBe("count-field-unknown");
  expect(count({ ...counted, stream: true })).toBe("count-field-unknown");
  expect(count({ ...counted, messages: [] })).toBe("messages-empty");
});

test("no rule throws on a body of any shape", () => {
  const shapes: readonly Json[] = [null, 1, "a", [], {}, [null], { type: null }, { content: null }];
  for (const name of ["messages", "system", "tools", "tool_choice", "thinking", "metadata"]) {
    for (const shape of shapes) {
      for (const value of [
        shape,
        [shape],
        { [name]: shape },
        [{ role: "user", content: [shape] }],
      ]) {
        const input = inputOf({ body: request({ [name]: value as Json }) });
        for (const rule of RULES) rule.check(input);
      }
    }
  }
  for (const body of shapes) for (const rule of RULES) rule.check(inputOf({ body }));
});

function ruleOf(given: Case): string | undefined {
  return judge(inputOf(given))?.rule.id;
}

function inputOf({ body = request(), raw, rawBytes, headers, contextTokens }: Case) {
  const parsed = raw === undefined ? { body, parseError: undefined } : parse(raw);
  const id = (parsed.body as JsonObject | undefined | null)?.["model"];
  return {
    headers: headers ?? { "anthropic-version": "2023-06-01", authorization: `Bearer ${KEY}` },
    rawBytes: rawBytes ?? 100,
    raw: raw ?? "",
    ...parsed,
    model: MODELS.find((model) => model.id === id),
    apiKey: KEY,
    contextTokens,
    signer,
  };
}

function parse(raw: string): { body: Json | undefined; parseError: string | undefined } {
  try {
    return { body: JSON.parse(raw), parseError: undefined };
  } catch {
    return { body: undefined, parseError: "not JSON" };
  }
}

function pair(breaks: JsonObject, near: JsonObject) {
  return { breaks: { body: request(breaks) }, near: { body: request(near) } };
}

function request(over: JsonObject = {}): JsonObject {
  const messages = [user("hello")];
  return { model: CURRENT, max_tokens: 100, messages, tools: [tool("any")], ...over };
}

function fastHeaders() {
  return {
    "anthropic-version": "2023-06-01",
    "x-api-key": KEY,
    "anthropic-beta": "fast-mode-2026-02-01",
  };
}

function newest() {
  return { "anthropic-version": "2026-10-21", authorization: `Bearer ${KEY}` };
}

function cited(value: string): JsonObject {
  return { ...text(value), citations: [{ type: "char_location", cited_text: "b" }] };
}

function budgeted(): JsonObject {
  return { model: OLD, max_tokens: 2_000, thinking: { type: "enabled", budget_tokens: 1_024 } };
}

function user(content: Json): JsonObject {
  return { role: "user", content };
}

function assistant(content: Json): JsonObject {
  return { role: "assistant", content };
}

function text(value: string): JsonObject {
  return { type: "text", text: value };
}

function marked(value: string, cache_control: JsonObject = { type: "ephemeral" }): JsonObject {
  return { ...text(value), cache_control };
}

function thinking(value: string): JsonObject {
  return { type: "thinking", thinking: value, signature: signer.sign(value) };
}

function tool(name: string): JsonObject {
  return { name, description: "does it", input_schema: { type: "object", properties: {} } };
}

function toolUse(id: string): JsonObject {
  return { type: "tool_use", id, name: "a", input: {} };
}

function toolResult(tool_use_id: string, content: Json = "done"): JsonObject {
  return { type: "tool_result", tool_use_id, content };
}

function called(...blocks: readonly JsonObject[]): readonly JsonObject[] {
  return [user("go"), assistant([toolUse("1")]), user(blocks)];
}

function afterCall(result: JsonObject): JsonObject {
  return { messages: called(result) };
}

function thought(block: JsonObject): readonly JsonObject[] {
  return [user("go"), assistant([block, toolUse("1")]), user([toolResult("1")])];
}

/** A tool used after some thinking, and what of the thinking comes back. */
function usedAfter(thoughts: readonly string[], kept: readonly JsonObject[]) {
  const id = `toolu_double_01_t${signer.mark(thoughts)}`;
  return [user("go"), assistant([...kept, toolUse(id)]), user([toolResult(id)])];
}

function image(over: JsonObject = {}): JsonObject {
  return { type: "image", source: { type: "base64", media_type: "image/png", data: PNG, ...over } };
}

function textDocument(media_type: string): JsonObject {
  return { type: "document", source: { type: "text", media_type, data: "a" } };
}

function pdf(data: string): JsonObject {
  return { type: "document", source: { type: "base64", media_type: "application/pdf", data } };
}
