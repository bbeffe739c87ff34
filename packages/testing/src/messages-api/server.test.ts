import Anthropic from "@anthropic-ai/sdk";
import { afterEach, expect, test } from "vitest";
import { answer, failing, overloaded, rateLimited, text, thinking, toolCall } from "./answers.ts";
import { type MessagesApi, type MessagesApiOptions, startMessagesApi } from "./server.ts";
import type { Fault } from "./types.ts";

const open: MessagesApi[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((api) => api.close()));
});

async function start(options: MessagesApiOptions = {}) {
  const api = await startMessagesApi(options);
  open.push(api);
  const client = new Anthropic({
    baseURL: api.url,
    apiKey: api.apiKey,
    maxRetries: 0,
    logLevel: "off",
  });
  return { api, client };
}

const HELLO = {
  model: "claude-opus-5-5",
  max_tokens: 1_000,
  messages: [{ role: "user" as const, content: "hello" }],
};
const BASH: Anthropic.Tool = { name: "bash", input_schema: { type: "object" } };

test("the official client reads a streamed answer with every kind of block", async () => {
  const { api, client } = await start({
    script: [
      answer(
        thinking("I had better look at the file before I say anything about it."),
        { type: "redacted_thinking" },
        text("Let me look at the file, which should not take long."),
        toolCall("bash", { command: "cat /etc/hostname" }),
      ),
    ],
  });
  const message = await client.messages.stream(HELLO).finalMessage();
  expect(message.content).toEqual([
    {
      type: "thinking",
      thinking: "I had better look at the file before I say anything about it.",
      signature: expect.stringMatching(/^.{44}$/),
    },
    { type: "redacted_thinking", data: expect.any(String) },
    {
      type: "text",
      text: "Let me look at the file, which should not take long.",
      citations: null,
    },
    {
      type: "tool_use",
      id: expect.stringMatching(/^toolu_/),
      name: "bash",
      input: { command: "cat /etc/hostname" },
      caller: { type: "direct" },
    },
  ]);
  expect(message).toMatchObject({ stop_reason: "tool_use", role: "assistant" });
  expect(message.usage.output_tokens).toBeGreaterThan(20);
  expect(api.refusals).toEqual([]);
});

test("the same answer without a stream has the same blocks", async () => {
  const { client } = await start({ script: [answer("one", toolCall("a", { b: 1 }))] });
  const whole = await client.messages.create(HELLO);
  const streamed = await client.messages.stream(HELLO).finalMessage();
  const blocks = (message: Anthropic.Message) =>
    message.content.map((block) => ({ ...block, id: "id" }));
  expect(blocks(whole)).toEqual(blocks(streamed));
});

test("thinking comes back only as it was made, with the tool's result after it", async () => {
  const { api, client } = await start({
    script: [answer(thinking("hm"), toolCall("bash")), answer("done")],
  });
  const first = await client.messages.create(HELLO);
  const use = first.content.find((block) => block.type === "tool_use");
  const again = (content: Anthropic.ContentBlock[]) =>
    client.messages.create({
      ...HELLO,
      tools: [BASH],
      messages: [
        ...HELLO.messages,
        { role: "assistant", content: content as Anthropic.ContentBlockParam[] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: use?.id ?? "" }] },
      ],
    });
  const edited = first.content.map((block) =>
    block.type === "thinking" ? { ...block, thinking: "hm!" } : block,
  );
  await expect(again(edited)).rejects.toThrow("Invalid `signature` in `thinking` block");
  const without = first.content.filter((block) => block.type !== "thinking");
  await expect(again(without)).rejects.toThrow("cannot be modified");
  expect((await again(first.content)).content).toMatchObject([{ type: "text", text: "done" }]);
  expect(api.refusals.map(({ rule }) => rule)).toEqual(["thinking-signature", "thinking-kept"]);
  expect(api.requests).toHaveLength(2);
});

test("refusals are the API's own errors, with its status and a request id", async () => {
  const { api } = await start();
  const ask = async (headers: Record<string, string>, body: unknown) => {
    const response = await fetch(`${api.url}/v1/messages`, {
      method: "POST",
      headers: { "anthropic-version": "2023-06-01", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
  const error = (type: string, message: string) => ({
    type: "error",
    error: { type, message },
    request_id: expect.stringMatching(/^req_/),
  });
  const key = { "x-api-key": api.apiKey };
  expect(await ask({}, HELLO)).toEqual({
    status: 401,
    body: error("authentication_error", "x-api-key header is required"),
  });
  expect(await ask(key, { ...HELLO, model: "claude-none" })).toEqual({
    status: 404,
    body: error("not_found_error", "model: claude-none"),
  });
  expect(await ask(key, { ...HELLO, messages: [] })).toEqual({
    status: 400,
    body: error("invalid_request_error", "messages: at least one message is required"),
  });
});

test("overload and rate limits are answered with their status and headers", async () => {
  const { client } = await start({ script: [overloaded(), rateLimited(7)] });
  const failure = () => client.messages.create(HELLO).catch((error: unknown) => error);
  expect(await failure()).toMatchObject({ status: 529, type: "overloaded_error" });
  const limited = await failure();
  expect(limited).toMatchObject({ status: 429, type: "rate_limit_error" });
  expect((limited as InstanceType<typeof Anthropic.APIError>).headers?.get("retry-after")).toBe(
    "7",
  );
});

test.each<[Fault["type"], Fault, RegExp]>([
  ["reset", { type: "reset" }, /Connection error/],
  ["cut", { type: "cut", afterEvents: 3 }, /terminated|aborted|closed/],
  ["garbage", { type: "garbage", afterEvents: 3 }, /JSON/],
  ["error_event", { type: "error_event", afterEvents: 3, error_type: "overloaded_error" }, /over/],
])("a stream that is to fail by %s fails so at the client", async (_, fault, expected) => {
  const { client } = await start({ script: [failing(fault, "some text that is long enough")] });
  await expect(client.messages.stream(HELLO).finalMessage()).rejects.toThrow(expected);
});

test("closing ends answers that would have gone on for ever", async () => {
  for (const fault of [
    { type: "silent" },
    { type: "stall", afterEvents: 2 },
    { type: "pings", afterEvents: 2, everyMs: 1 },
    { type: "flood", afterEvents: 2 },
  ] as const) {
    const { api, client } = await start({ script: [failing(fault, "text")] });
    const asked = client.messages
      .stream(HELLO)
      .finalMessage()
      .catch((error: unknown) => error);
    await expect.poll(() => api.active).toBe(1);
    await api.close();
    expect(await asked).toBeInstanceOf(Error);
    expect(api.active).toBe(0);
  }
});

test("an answer that waits is given up when the client hangs up", async () => {
  const { api, client } = await start({
    script: [{ ...answer("slow text"), pacing: { delayMs: 3_600_000 } }],
  });
  const stream = client.messages.stream(HELLO);
  stream.on("error", () => undefined);
  stream.on("abort", () => undefined);
  await expect.poll(() => api.active).toBe(1);
  stream.abort();
  await expect.poll(() => api.active).toBe(0);
});

test("a user message can carry its script, and faults that pass", async () => {
  const { client } = await start();
  const script = [
    { content: [toolCall("bash", { command: "ls" })], fault: { ...overloaded().fault, times: 1 } },
    { content: [text("listed")] },
  ];
  const messages: Anthropic.MessageParam[] = [
    { role: "user", content: `go on\n#script ${JSON.stringify(script)}` },
  ];
  const ask = () => client.messages.create({ ...HELLO, tools: [BASH], messages });
  await expect(ask()).rejects.toMatchObject({ status: 529 });
  const first = await ask();
  expect(first.content).toMatchObject([{ type: "tool_use", name: "bash" }]);
  const [use] = first.content as [Anthropic.ToolUseBlock];
  messages.push(
    { role: "assistant", content: [{ ...use }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: use.id }] },
  );
  expect((await ask()).content).toMatchObject([{ type: "text", text: "listed" }]);
  messages.push({ role: "assistant", content: "listed" }, { role: "user", content: "and now?" });
  expect((await ask()).content).toMatchObject([{ type: "text", text: "done" }]);
});

test("a prompt that does not fit is refused with the numbers", async () => {
  const { client } = await start({ contextTokens: 500 });
  const messages = [{ role: "user" as const, content: "word ".repeat(1_000) }];
  await expect(client.messages.create({ ...HELLO, messages })).rejects.toThrow(
    /prompt is too long: 1254 tokens > 500 maximum/,
  );
});

test("tokens are counted and models listed", async () => {
  const { client } = await start();
  const { max_tokens: _, ...counted } = HELLO;
  expect(await client.messages.countTokens(counted)).toEqual({ input_tokens: 6 });
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toContain("claude-opus-5-5");
  expect(await client.models.retrieve("claude-haiku-4-5")).toMatchObject({ type: "model" });
  await expect(client.models.retrieve("claude-none")).rejects.toMatchObject({ status: 404 });
});
