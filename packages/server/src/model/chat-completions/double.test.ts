import { answer, startChatCompletions, text, thinking, toolCall } from "@drover/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";

const TOOLS = [
  { type: "function" as const, function: { name: "bash", parameters: { type: "object" } } },
];

async function start(): Promise<OpenAI> {
  const api = await startChatCompletions({
    script: [answer(thinking("Hm."), text("Both:"), toolCall("bash", { a: 1 }), toolCall("bash"))],
  });
  onTestFinished(() => api.close());
  return new OpenAI({ baseURL: api.url, apiKey: api.apiKey, maxRetries: 0 });
}

test("the double's stream is one that the official client's own helper puts together", async () => {
  const client = await start();
  const stream = client.chat.completions.stream({
    model: "large",
    messages: [{ role: "user", content: "go" }],
    tools: TOOLS,
    stream_options: { include_usage: true },
  });
  const { choices, usage } = await stream.finalChatCompletion();
  expect(choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: {
      role: "assistant",
      content: "Both:",
      tool_calls: [
        { id: expect.stringMatching(/^call_/), function: { name: "bash", arguments: '{"a":1}' } },
        { id: expect.stringMatching(/^call_/), function: { name: "bash", arguments: "{}" } },
      ],
    },
  });
  expect(usage?.total_tokens).toBe(Number(usage?.prompt_tokens) + Number(usage?.completion_tokens));
});

test("the same without a stream", async () => {
  const client = await start();
  const { choices } = await client.chat.completions.create({
    model: "large",
    messages: [{ role: "user", content: "go" }],
    tools: TOOLS,
  });
  expect(choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: { content: "Both:", tool_calls: [{ type: "function" }, { type: "function" }] },
  });
});

test("a refusal is one of the official client's errors", async () => {
  const client = await start();
  const asked = client.chat.completions.create({
    model: "none",
    messages: [{ role: "user", content: "go" }],
  });
  await expect(asked).rejects.toThrow(OpenAI.NotFoundError);
});
