import {
  type Answer,
  answer,
  type ChatCompletions,
  type Fault,
  FLAVOURS,
  type FlavourName,
  failing,
  type JsonObject,
  startChatCompletions,
  text,
  thinking,
  toolCall,
} from "@drover/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { responseOf, testModel, type WantedAnswer } from "../../core/ports/model.testsuite.ts";
import type { ModelObserver, ModelTool } from "../../core/ports/model.ts";
import { Secret } from "../../lib/secret.ts";
import type { ProviderRequest } from "../provider.ts";
import { ChatCompletionsModel, type ChatCompletionsModelOptions } from "./model.ts";

const QUIET: ModelObserver = { blockStarted: () => undefined, textDelta: () => undefined };

const FAULTS: Readonly<Record<NonNullable<WantedAnswer["fail"]>, Fault>> = {
  overloaded: { type: "status", status: 503 },
  rate_limited: { type: "status", status: 429, error_type: "rate_limit_exceeded" },
  billing: { type: "status", status: 402 },
  connection: { type: "cut", afterEvents: 3 },
  request_failed: { type: "status", status: 400 },
  prompt_too_long: {
    type: "status",
    status: 400,
    message: "This model's maximum context length is 4097 tokens.",
  },
};

const BASH: ModelTool = { name: "bash", description: "runs", input_schema: { type: "object" } };

/** What the configuration must say for a server of a kind. */
const SETTINGS: Partial<Record<FlavourName, Partial<ChatCompletionsModelOptions>>> = {
  llama_cpp: { leaveOut: ["stream_options"] },
  bare: { leaveOut: ["stream_options", "max_tokens", "parallel_tool_calls"] },
};
/** They tell nothing while they answer, or no tokens at all, which the contract looks at. */
const QUIET_FLAVOURS: readonly FlavourName[] = ["whole", "bare"];
const FLAVOUR_NAMES = Object.keys(FLAVOURS) as FlavourName[];

describe.each(FLAVOUR_NAMES.filter((name) => !QUIET_FLAVOURS.includes(name)))(
  "ChatCompletionsModel on a server like %s",
  (flavour) => {
    testModel(async () => {
      const api = await startChatCompletions({ flavour });
      return {
        model: modelOf(api, SETTINGS[flavour]),
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
  },
);

describe("ChatCompletionsModel", () => {
  test.each(FLAVOUR_NAMES)("reads thinking, text and two calls of a server like %s", async (it) => {
    const say = "A sentence of several pieces, with an ä and a 😀.";
    const calls = [toolCall("bash", { command: "echo '{\"a\":1}'" }), toolCall("bash", {})];
    const { ask, api } = await start(
      [answer(thinking("Hm, let me think about it for a while."), text(say), ...calls)],
      { flavour: it, options: SETTINGS[it] ?? {} },
    );
    const response = responseOf(await ask({ ...requestOf("go"), tools: [BASH] }));
    expect(response.blocks).toMatchObject([
      { type: "thinking", thinking: "Hm, let me think about it for a while." },
      { type: "text", text: say },
      { type: "tool_use", name: "bash", input: { command: "echo '{\"a\":1}'" } },
      { type: "tool_use", name: "bash", input: {} },
    ]);
    expect(response.stop_reason).toBe("tool_use");
    expect(new Set(response.blocks.slice(2).map((block) => block["id"])).size).toBe(2);
    expect(response.request_id).toMatch(/^req_/);
    expect(api.refusals).toEqual([]);
  });

  test("sends a request in the API's words and nothing else", async () => {
    const { api, ask } = await start([answer("ok")]);
    await ask({
      ...requestOf("hello"),
      system: [
        { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } },
        { type: "text", text: "Be kind." },
      ],
      tools: [BASH],
      effort: "low",
      parameters: { temperature: 0.5 },
      parallelTools: false,
      max_tokens: 8_000,
      isLimitKnown: true,
    });
    await ask({ ...requestOf("hello"), max_tokens: 32_000 });
    expect(api.requests.map(({ body }) => body)).toEqual([
      {
        temperature: 0.5,
        model: "large",
        messages: [
          { role: "system", content: "Be brief.\n\nBe kind." },
          { role: "user", content: "hello" },
        ],
        tools: [
          {
            type: "function",
            function: { name: "bash", description: "runs", parameters: { type: "object" } },
          },
        ],
        parallel_tool_calls: false,
        max_tokens: 8_000,
        reasoning_effort: "low",
        stream: true,
        stream_options: { include_usage: true },
      },
      {
        model: "large",
        messages: [{ role: "user", content: "hello" }],
        stream: true,
        stream_options: { include_usage: true },
      },
    ]);
    expect(api.requests[0]?.headers.authorization).toBe(`Bearer ${api.apiKey}`);
  });

  test("names the limit as the server wants it, and sends the headers of the configuration", async () => {
    const headers = { "X-Title": new Secret("Drover") };
    const options = { maxTokensField: "max_completion_tokens", headers } as const;
    const { api, ask } = await start([answer("ok")], { options });
    await ask(requestOf("hello"));
    expect(api.requests[0]?.body).toMatchObject({ max_completion_tokens: 1_000 });
    expect(api.requests[0]?.headers["x-title"]).toBe("Drover");
  });

  test.each<[string, Partial<Answer>, string]>([
    ["length", { stop_reason: "max_tokens" }, "max_tokens"],
    ["content_filter", { stop_reason: "refusal" }, "refusal"],
    ["stop", { stop_reason: "end_turn" }, "end_turn"],
    ["tool_calls without one", { stop_reason: "tool_use" }, "end_turn"],
    ["none, but [DONE]", { stop_reason: null }, "end_turn"],
    ["one from the future", { stop_reason: "one_from_the_future" }, "end_turn"],
  ])("tells the finish reason %s", async (_, given, expected) => {
    const { ask } = await start([{ ...answer("text"), ...given }]);
    expect(responseOf(await ask()).stop_reason).toBe(expected);
  });

  test("leaves out a call that the limit cut off, and keeps those before it", async () => {
    const cut = { ...toolCall("bash"), inputJson: '{"command": "rm -' };
    const content = [text("Now"), toolCall("bash", { command: "ls" }), cut];
    const { ask } = await start([{ content, stop_reason: "max_tokens" }]);
    expect(responseOf(await ask()).blocks).toMatchObject([
      { type: "text" },
      { type: "tool_use", name: "bash", input: { command: "ls" } },
    ]);
  });

  test("counts tokens without those of the cache; what is not told is not zero", async () => {
    const details = { prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 } };
    const { ask } = await start([
      { ...answer("a"), usage: { prompt_tokens: 100, completion_tokens: 7, ...details } },
      { ...answer("a"), usage: { prompt_tokens: 100, completion_tokens: 7 } },
    ]);
    expect(responseOf(await ask()).usage).toEqual({
      input_tokens: 30,
      output_tokens: 7,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
    });
    expect(responseOf(await ask()).usage).toEqual({ input_tokens: 100, output_tokens: 7 });
    const silent = await start([answer("a")], { flavour: "bare", options: SETTINGS.bare ?? {} });
    expect(responseOf(await silent.ask()).usage).toEqual({});
  });

  test("a name that is too long for a tool is sent short and comes back long", async () => {
    const name = `mcp_${"x".repeat(120)}`;
    let sent = "";
    const { api, ask } = await start([
      ({ body }) => {
        const [tool] = body["tools"] as { function: { name: string } }[];
        sent = tool?.function.name ?? "";
        return answer(toolCall(sent));
      },
    ]);
    const outcome = responseOf(await ask({ ...requestOf("x"), tools: [{ ...BASH, name }] }));
    expect(sent).toMatch(/^mcp_x{51}_[0-9a-f]{8}$/);
    expect(outcome.blocks).toMatchObject([{ type: "tool_use", name }]);
    expect(api.refusals).toEqual([]);
  });

  test.each<[string, Fault, object]>([
    ["400", status(400), { kind: "request_failed", retryable: false, invalidRequest: true }],
    ["401", status(401), { kind: "request_failed", retryable: false }],
    ["404", status(404), { kind: "request_failed", retryable: false }],
    ["402", status(402), { kind: "billing", retryable: false }],
    ["408", status(408), { kind: "request_failed", retryable: true }],
    ["500", status(500), { kind: "request_failed", retryable: true }],
    ["502", status(502), { kind: "request_failed", retryable: true }],
    ["503", status(503), { kind: "overloaded", retryable: true }],
    [
      "429 with retry-after",
      { ...status(429), headers: { "retry-after": "7" } },
      { kind: "rate_limited", retryable: true, retryAfterMs: 7_000 },
    ],
    [
      "429 without credit",
      { ...status(429), error_type: "insufficient_quota" },
      { kind: "billing", retryable: false },
    ],
    [
      "a prompt that is too long, by its code",
      { ...status(400), error_type: "context_length_exceeded" },
      { kind: "prompt_too_long", retryable: false },
    ],
    [
      "a prompt that is too long, by its words",
      { ...status(400), message: "the request exceeds the available context size. try again" },
      { kind: "prompt_too_long", retryable: false },
    ],
    [
      "a thing that the model cannot do, told as an error of the server",
      { ...status(500), message: "image input is not supported by this server" },
      { kind: "request_failed", retryable: false, invalidRequest: true },
    ],
    [
      "an error in words of its own",
      { ...status(422), body: '{"detail":"a field is missing"}' },
      { retryable: false, message: "The model API answered 422: a field is missing" },
    ],
    [
      "an error that is a string",
      { ...status(400), body: '{"error":"no such model"}' },
      { message: "The model API answered 400: no such model" },
    ],
    [
      "an error of another shape",
      { ...status(400), body: '{"object":"error","message":"too bad","code":40001}' },
      { message: "The model API answered 400: too bad" },
    ],
    [
      "a body of HTML",
      { ...status(502), body: "<h1>Bad gateway</h1>" },
      { retryable: true, message: "The model API answered 502: <h1>Bad gateway</h1>" },
    ],
    [
      "an error in the middle",
      { type: "error_event", afterEvents: 2, error_type: "server_error", message: "lost it" },
      { retryable: true, message: "The model API ended its response with an error: lost it" },
    ],
    ["a reset", { type: "reset" }, { kind: "connection", retryable: true }],
    ["a cut", { type: "cut", afterEvents: 2 }, { kind: "connection", retryable: true }],
    ["an early end", { type: "end", afterEvents: 2 }, { kind: "connection", retryable: true }],
    ["an end without a chunk", { type: "end", afterEvents: 0 }, { kind: "connection" }],
    ["garbage", { type: "garbage", afterEvents: 2 }, { kind: "connection", retryable: true }],
  ])("maps %s", async (_, fault, expected) => {
    const { ask } = await start([failing(fault, "some text in several pieces, as it should be")]);
    expect(await ask()).toMatchObject({ type: "failure", ...expected });
  });

  test.each<[number, object]>([
    [429, { kind: "rate_limited", retryable: true }],
    [402, { kind: "billing", retryable: false }],
    [502, { kind: "request_failed", retryable: true }],
    [503, { kind: "overloaded", retryable: true }],
  ])("maps a %i that comes in a stream of status 200", async (code, expected) => {
    const { ask } = await start([failing(status(code))], { flavour: "openrouter" });
    expect(await ask()).toMatchObject({ type: "failure", ...expected });
  });

  test.each<[string, Fault, object, RegExp]>([
    ["no answer", { type: "silent" }, { silenceMs: 80 }, /silent for 80 ms/],
    ["a stall", { type: "stall", afterEvents: 3 }, { silenceMs: 80 }, /silent for 80 ms/],
    [
      "comments and nothing else",
      { type: "pings", afterEvents: 3, everyMs: 5 },
      { stalledMs: 200 },
      /nothing but pings for 200 ms/,
    ],
  ])("cuts %s", async (_, fault, limits, message) => {
    const { api, ask } = await start([failing(fault, "some text")], { options: { limits } });
    expect(await ask()).toMatchObject({
      kind: "connection",
      retryable: true,
      message: expect.stringMatching(message),
    });
    await expect.poll(() => api.active).toBe(0);
  });

  test("cuts a response that is larger than the limit", async () => {
    const flood = failing({ type: "flood", afterEvents: 2 }, "text");
    const { api, ask } = await start([flood], { options: { limits: { maxBytes: 1_000_000 } } });
    expect(await ask()).toMatchObject({ kind: "connection", retryable: false });
    await expect.poll(() => api.active).toBe(0);
  });

  test("says where nobody listens", async () => {
    const { api, ask } = await start([]);
    await api.close();
    expect(await ask()).toMatchObject({
      kind: "connection",
      retryable: true,
      message: expect.stringMatching(/http:\/\/127\.0\.0\.1:\d+ .*ECONNREFUSED/),
    });
  });

  test("no message has the key, or a header's secret, in it", async () => {
    const headers = { "X-Other": new Secret("other-secret") };
    const { ask } = await start(
      [
        (request) => {
          const key = String(request.headers.authorization).replace("Bearer ", "");
          return failing({ ...status(401), message: `bad key ${key} of other-secret` });
        },
      ],
      { options: { headers } },
    );
    expect(await ask()).toMatchObject({
      message: "The model API answered 401: bad key [redacted] of [redacted]",
    });
  });

  test("does not follow a redirect with a conversation in hand", async () => {
    const elsewhere = await start([answer("caught")]);
    const redirect = { location: `${elsewhere.api.url}/chat/completions` };
    const { ask } = await start([failing({ ...status(307), headers: redirect })]);
    expect(await ask()).toMatchObject({ type: "failure" });
    expect([...elsewhere.api.requests, ...elsewhere.api.refusals]).toEqual([]);
  });
});

type Step = Answer | ((request: ChatCompletions["requests"][number]) => Answer);

function status(code: number): Extract<Fault, { type: "status" }> {
  return { type: "status", status: code, message: `told by a ${code}` };
}

async function start(
  script: readonly Step[],
  {
    flavour,
    options,
  }: { flavour?: FlavourName; options?: Partial<ChatCompletionsModelOptions> } = {},
) {
  const api = await startChatCompletions({
    ...(flavour !== undefined && { flavour }),
    script: (request, n) => {
      const step = script[Math.min(n, script.length - 1)];
      return (typeof step === "function" ? step(request) : step) ?? answer("done");
    },
  });
  onTestFinished(() => api.close());
  const model = modelOf(api, options);
  const ask = (request = requestOf("hello")) =>
    model.respond(request, QUIET, new AbortController().signal);
  return { api, ask };
}

function modelOf(
  api: ChatCompletions,
  options: Partial<ChatCompletionsModelOptions> = {},
): ChatCompletionsModel {
  return new ChatCompletionsModel({
    baseUrl: `${api.url}/`,
    apiKey: new Secret(api.apiKey),
    ...options,
  });
}

function requestOf(said: string): ProviderRequest {
  return {
    model: "large",
    system: [],
    messages: [{ role: "user", content: [{ type: "text", text: said }] }],
    tools: [],
    max_tokens: 1_000,
  };
}

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
