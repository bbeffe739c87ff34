import {
  type Answer,
  answer,
  type Fault,
  failing,
  type JsonObject,
  type MessagesApi,
  startMessagesApi,
  text,
  thinking,
  toolCall,
} from "@drover/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { responseOf, testModel, type WantedAnswer } from "../core/ports/model.testsuite.ts";
import type { ModelObserver, ModelRequest, ModelTool } from "../core/ports/model.ts";
import { Secret } from "../lib/secret.ts";
import { AnthropicModel, type AnthropicModelOptions } from "./anthropic.ts";

const QUIET: ModelObserver = { blockStarted: () => undefined, textDelta: () => undefined };

const FAULTS: Readonly<Record<NonNullable<WantedAnswer["fail"]>, Fault>> = {
  overloaded: { type: "status", status: 529, error_type: "overloaded_error" },
  rate_limited: { type: "status", status: 429, error_type: "rate_limit_error" },
  billing: { type: "status", status: 402, error_type: "billing_error" },
  connection: { type: "cut", afterEvents: 3 },
  request_failed: { type: "status", status: 400, error_type: "invalid_request_error" },
  prompt_too_long: {
    type: "status",
    status: 400,
    error_type: "invalid_request_error",
    message: "prompt is too long: 205000 tokens > 200000 maximum",
  },
};

const BASH: ModelTool = {
  name: "bash",
  description: "runs",
  input_schema: { type: "object" },
};

describe("AnthropicModel", () => {
  testModel(async () => {
    const api = await startMessagesApi();
    return {
      model: modelOf(api),
      request: (answers) => ({
        ...requestOf(`go on\n#script ${JSON.stringify(answers.map(wantedAnswer))}`),
        tools: [BASH],
      }),
      close: async () => {
        await api.close();
        expect(api.refusals).toEqual([]);
      },
    };
  });

  test("sends what the request says and nothing else", async () => {
    const { api, ask } = await start([answer("ok")]);
    const request: ModelRequest = {
      ...requestOf("hello"),
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      tools: [BASH],
      effort: "low",
      speed: "fast",
    };
    await ask(request);
    await ask(requestOf("hello"));
    expect(api.requests.map(({ body }) => body)).toEqual([
      {
        model: "claude-opus-5-5",
        max_tokens: 1_000,
        messages: request.messages,
        system: request.system,
        tools: request.tools,
        output_config: { effort: "low" },
        speed: "fast",
        stream: true,
      },
      {
        model: "claude-opus-5-5",
        max_tokens: 1_000,
        messages: request.messages,
        stream: true,
      },
    ]);
    expect(api.requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${api.apiKey}`,
      "anthropic-beta": "fast-mode-2026-02-01",
    });
    expect(api.refusals).toEqual([]);
  });

  test("finds the API also under a base URL that ends in /v1/", async () => {
    const api = await open([answer("ok")]);
    const model = modelOf(api, { baseUrl: `${api.url}/v1/` });
    const outcome = await model.respond(requestOf("a"), QUIET, new AbortController().signal);
    expect(responseOf(outcome).blocks).toMatchObject([{ text: "ok" }]);
  });

  test("keeps thinking, signatures and redacted thinking byte for byte", async () => {
    const odd = "tabs\t, \u00e9 and e\u0301, half a pair \ud83d, \u2028, and 😀";
    const { ask } = await start([
      answer(
        { type: "thinking", thinking: odd, signature: "c2lnbmF0dXJl==" },
        { type: "redacted_thinking", data: "b3BhcXVl" },
        text("done"),
      ),
    ]);
    expect(responseOf(await ask()).blocks).toEqual([
      { type: "thinking", thinking: odd, signature: "c2lnbmF0dXJl==" },
      { type: "redacted_thinking", data: "b3BhcXVl" },
      { type: "text", text: "done", citations: null },
    ]);
  });

  test.each<[string | null, Partial<Answer>]>([
    ["max_tokens", { stop_reason: "max_tokens" }],
    ["pause_turn", { stop_reason: "pause_turn" }],
    ["stop_sequence", { stop_reason: "stop_sequence", stop_sequence: "END" }],
    ["model_context_window_exceeded", { stop_reason: "model_context_window_exceeded" }],
    ["one_from_the_future", { stop_reason: "one_from_the_future" }],
    [null, { stop_reason: null }],
  ])("tells the stop reason %s as it is", async (expected, given) => {
    const { ask } = await start([{ ...answer("text"), ...given }]);
    expect(responseOf(await ask())).toMatchObject({ stop_reason: expected, stop_details: null });
  });

  test("tells the details of a refusal", async () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "No." };
    const { ask } = await start([{ ...answer("I"), stop_reason: "refusal", stop_details }]);
    expect(responseOf(await ask())).toMatchObject({ stop_reason: "refusal", stop_details });
  });

  test("leaves out a tool use that max_tokens cut off, and keeps those before it", async () => {
    for (const inputJson of ['{"command": "rm -', ""]) {
      const cut = { ...toolCall("bash"), inputJson };
      const content = [text("Now"), toolCall("read", { path: "a" }), cut];
      const { ask } = await start([{ content, stop_reason: "max_tokens" }]);
      expect(responseOf(await ask())).toMatchObject({
        blocks: [{ type: "text" }, { type: "tool_use", name: "read", input: { path: "a" } }],
        cut_call: "bash",
      });
    }
  });

  test.each(['{"command": ', "[1]", '"text"', `{"command": ${"x".repeat(2_000)}`])(
    "tells what came instead of a tool input that is an object: %s",
    async (inputJson) => {
      const call = { ...toolCall("bash"), inputJson };
      const { ask } = await start([answer(text("Now"), call, toolCall("read", { path: "a" }))]);
      const { blocks, unreadable_inputs } = responseOf(await ask());
      expect(blocks).toMatchObject([
        { type: "text" },
        { type: "tool_use", name: "bash", input: {} },
        { type: "tool_use", name: "read", input: { path: "a" } },
      ]);
      expect(unreadable_inputs).toEqual([{ index: 1, text: inputJson.slice(0, 1_000) }]);
    },
  );

  test("counts usage from both ends of the stream; what is not told is not zero", async () => {
    const cache_creation = { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 };
    const { ask } = await start([
      {
        ...answer("text"),
        usage: { output_tokens: 9, input_tokens: 8, cache_read_input_tokens: 7, cache_creation },
      },
      {
        ...answer("text"),
        usage: {
          output_tokens: 9,
          cache_read_input_tokens: null,
          cache_creation_input_tokens: null,
          cache_creation: null,
        },
      },
    ]);
    expect(responseOf(await ask()).usage).toEqual({
      input_tokens: 8,
      output_tokens: 9,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 7,
      cache_creation,
    });
    expect(responseOf(await ask()).usage).toEqual({
      input_tokens: expect.any(Number),
      output_tokens: 9,
    });
  });

  test("tells the API's request id", async () => {
    const { ask } = await start([answer("text")]);
    expect(responseOf(await ask()).request_id).toMatch(/^req_/);
  });

  test.each<[string, Fault, object]>([
    ["400", status(400), { kind: "request_failed", retryable: false }],
    ["401", status(401), { kind: "request_failed", retryable: false }],
    ["403", status(403), { kind: "request_failed", retryable: false }],
    ["404", status(404), { kind: "request_failed", retryable: false }],
    ["413", status(413), { kind: "prompt_too_long", retryable: false }],
    ["402", status(402), { kind: "billing", retryable: false }],
    ["408", status(408), { kind: "request_failed", retryable: true }],
    ["409", status(409), { kind: "request_failed", retryable: true }],
    ["500", status(500), { kind: "request_failed", retryable: true }],
    ["503", status(503), { kind: "overloaded", retryable: true }],
    ["529", status(529), { kind: "overloaded", retryable: true }],
    [
      "429 with retry-after",
      { ...status(429), headers: { "retry-after": "7" } },
      { kind: "rate_limited", retryable: true, retryAfterMs: 7_000 },
    ],
    [
      "429 with a date of long ago",
      { ...status(429), headers: { "retry-after": "Fri, 01 Jan 2021 00:00:00 GMT" } },
      { kind: "rate_limited", retryable: true, retryAfterMs: 0 },
    ],
    [
      "429 with a date that is years away",
      { ...status(429), headers: { "retry-after": "Tue, 01 Jan 2999 00:00:00 GMT" } },
      { kind: "rate_limited", retryable: true, retryAfterMs: 366 * 86_400_000 },
    ],
    [
      "429 with nonsense",
      { ...status(429), headers: { "retry-after": "soon" } },
      { kind: "rate_limited", retryable: true },
    ],
    [
      "429 with retry-after-ms",
      { ...status(429), headers: { "retry-after-ms": "250", "retry-after": "7" } },
      { kind: "rate_limited", retryable: true, retryAfterMs: 250 },
    ],
    [
      "429 with an absurd retry-after",
      { ...status(429), headers: { "retry-after": "99999999" } },
      { kind: "rate_limited", retryable: true, retryAfterMs: 366 * 86_400_000 },
    ],
    [
      "500 that says not to retry",
      { ...status(500), headers: { "x-should-retry": "false" } },
      { kind: "request_failed", retryable: false },
    ],
    [
      "429 for a spend limit",
      { ...status(429), body: coded("rate_limit_error", "enforced_spend_limit_reached") },
      { kind: "billing", retryable: false },
    ],
    [
      "an overload in the middle",
      { type: "error_event", afterEvents: 4, error_type: "overloaded_error" },
      { kind: "overloaded", retryable: true },
    ],
    [
      "an unknown error in the middle",
      { type: "error_event", afterEvents: 4, error_type: "new_error" },
      { kind: "request_failed", retryable: true },
    ],
    ["a reset", { type: "reset" }, { kind: "connection", retryable: true }],
    ["a cut", { type: "cut", afterEvents: 4 }, { kind: "connection", retryable: true }],
    ["an early end", { type: "end", afterEvents: 4 }, { kind: "connection", retryable: true }],
    ["an end without events", { type: "end", afterEvents: 0 }, { kind: "connection" }],
    ["garbage", { type: "garbage", afterEvents: 4 }, { kind: "connection", retryable: true }],
    ["a body of HTML", { ...status(502), body: "<h1>Bad gateway</h1>" }, { retryable: true }],
  ])("maps %s", async (_, fault, expected) => {
    const { ask } = await start([failing(fault, "some text in several pieces, as it should be")]);
    expect(await ask()).toMatchObject({ type: "failure", ...expected });
  });

  test.each<[string, Fault, object, RegExp]>([
    ["no answer", { type: "silent" }, { silenceMs: 80 }, /silent for 80 ms/],
    ["a stall", { type: "stall", afterEvents: 3 }, { silenceMs: 80 }, /silent for 80 ms/],
    [
      "pings and nothing else",
      { type: "pings", afterEvents: 3, everyMs: 5 },
      { stalledMs: 200 },
      /nothing but pings for 200 ms/,
    ],
  ])("cuts %s", async (_, fault, limits, message) => {
    const { api, ask } = await start([failing(fault, "some text")], { limits });
    expect(await ask()).toMatchObject({
      kind: "connection",
      retryable: true,
      message: expect.stringMatching(message),
    });
    await expect.poll(() => api.active).toBe(0);
  });

  test("does not cut a slow response while something comes now and then", async () => {
    const slow = { ...answer("x".repeat(15)), pacing: { chunkChars: 1, delayMs: 100 } };
    const { ask } = await start([slow], { limits: { silenceMs: 1_000, stalledMs: 1_000 } });
    expect(responseOf(await ask()).stop_reason).toBe("end_turn");
  });

  test("cuts a response that is longer than the limit of time or of size", async () => {
    const slow = { ...answer("a text of many pieces"), pacing: { chunkChars: 1, delayMs: 20 } };
    const late = await start([slow], { limits: { totalMs: 100 } });
    expect(await late.ask()).toMatchObject({ kind: "connection", retryable: true });
    const flood = failing({ type: "flood", afterEvents: 2 }, "text");
    const large = await start([flood], { limits: { maxBytes: 1_000_000 } });
    expect(await large.ask()).toMatchObject({ kind: "connection", retryable: false });
    await expect.poll(() => [late.api.active, large.api.active]).toEqual([0, 0]);
  });

  test("an abort frees the API at once, also before it has answered", async () => {
    const { api, model } = await start([failing({ type: "silent" })]);
    const controller = new AbortController();
    const asked = model.respond(requestOf("a"), QUIET, controller.signal);
    await expect.poll(() => api.active).toBe(1);
    controller.abort();
    expect(await asked).toMatchObject({ kind: "aborted" });
    await expect.poll(() => api.active).toBe(0);
  });

  test("a failure still tells the tokens that were told before it", async () => {
    const { ask } = await start([failing({ type: "cut", afterEvents: 4 }, "some text")]);
    expect(await ask()).toMatchObject({ usage: { input_tokens: expect.any(Number) } });
  });

  test("says where nobody listens", async () => {
    const api = await open([]);
    await api.close();
    const outcome = await modelOf(api).respond(requestOf("a"), QUIET, new AbortController().signal);
    expect(outcome).toMatchObject({
      kind: "connection",
      retryable: true,
      message: expect.stringMatching(new RegExp(`${api.url}.*ECONNREFUSED`)),
    });
  });

  test("no message has the key or anything like one in it", async () => {
    const said = "bad key KEY, sk-ant-oat01-abc_DEF, Authorization: Bearer abc.def, x-api-key: abc";
    const api = await open([
      ({ headers }) => {
        const key = String(headers.authorization).replace("Bearer ", "");
        return failing({ ...status(401), message: said.replace("KEY", key) });
      },
    ]);
    const outcome = await modelOf(api).respond(requestOf("a"), QUIET, new AbortController().signal);
    expect(outcome.type === "failure" && outcome.message).toBe(
      "The model API answered 401: bad key [redacted], [redacted], Authorization: [redacted], x-api-key: [redacted]",
    );
  });

  test("does not follow a redirect with a conversation in hand", async () => {
    const elsewhere = await open([answer("caught")]);
    const redirect = { location: `${elsewhere.url}/v1/messages` };
    const { ask } = await start([failing({ ...status(307), headers: redirect })]);
    expect(await ask()).toMatchObject({ type: "failure" });
    expect([...elsewhere.requests, ...elsewhere.refusals]).toEqual([]);
  });
});

function status(code: number): Extract<Fault, { type: "status" }> {
  return { type: "status", status: code, message: `told by a ${code}` };
}

function coded(type: string, error_code: string): string {
  return JSON.stringify({ type: "error", error: { type, message: "no", details: { error_code } } });
}

async function open(
  script: readonly (Answer | ((request: MessagesApi["requests"][number]) => Answer))[],
): Promise<MessagesApi> {
  const api = await startMessagesApi({
    script: (request, n) => {
      const step = script[Math.min(n, script.length - 1)];
      return (typeof step === "function" ? step(request) : step) ?? answer("done");
    },
  });
  onTestFinished(() => api.close());
  return api;
}

async function start(script: readonly Answer[], options: Partial<AnthropicModelOptions> = {}) {
  const api = await open(script);
  const model = modelOf(api, options);
  const ask = (request = requestOf("hello")) =>
    model.respond(request, QUIET, new AbortController().signal);
  return { api, model, ask };
}

function modelOf(api: MessagesApi, options: Partial<AnthropicModelOptions> = {}): AnthropicModel {
  return new AnthropicModel({ baseUrl: api.url, apiKey: new Secret(api.apiKey), ...options });
}

function requestOf(said: string): ModelRequest {
  return {
    model: "claude-opus-5-5",
    system: [],
    messages: [{ role: "user", content: [{ type: "text", text: said }] }],
    tools: [],
    max_tokens: 1_000,
  };
}

describe("counting", () => {
  const signal = () => new AbortController().signal;

  test("asks for the prompt alone, and nothing that a count does not take", async () => {
    const { api, model } = await start([answer("hi")]);
    const request = { ...requestOf("hello"), effort: "high" as const };
    expect(await model.count(request, signal())).toBeGreaterThan(1);
    expect(Object.keys(api.counts[0] ?? {}).toSorted()).toEqual(["messages", "model"]);
    expect(api.refusals).toEqual([]);
    expect(api.requests).toEqual([]);
  });

  test("that fails, is aborted or comes to nothing is not knowing", async () => {
    const { api, model } = await start([answer("hi")]);
    expect(
      await model.count({ ...requestOf("hello"), model: "claude-none" }, signal()),
    ).toBeUndefined();
    expect(await model.count(requestOf("hello"), AbortSignal.abort())).toBeUndefined();
    await api.close();
    expect(await model.count(requestOf("hello"), signal())).toBeUndefined();
  });
});

function wantedAnswer({ think, say, calls, delayMs, fail }: WantedAnswer): Answer {
  return {
    content: [
      ...(think === undefined ? [] : [thinking(think)]),
      ...(say === undefined ? [] : [text(say)]),
      ...(calls ?? []).map(({ name, input }) => toolCall(name, input as JsonObject)),
    ],
    pacing: { chunkChars: 8, ...(delayMs !== undefined && { delayMs }) },
    ...(fail !== undefined && { fault: FAULTS[fail] }),
  };
}
