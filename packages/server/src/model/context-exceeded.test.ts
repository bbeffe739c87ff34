import { expect, test } from "vitest";
import { tooLongPrompt } from "./context-exceeded.ts";

test.each<[number, string, number | undefined]>([
  [400, "prompt is too long: 205000 tokens > 200000 maximum", 200_000],
  [
    400,
    "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again",
    200_000,
  ],
  [400, "This model's maximum context length is 8192 tokens. However, you requested 9000.", 8_192],
  [400, "the request exceeds the available context size (4096 tokens), try increasing it", 4_096],
  [400, "prompt is too long", undefined],
  [400, "Your input exceeds the context window of 128k tokens.", undefined],
  [413, "Request exceeds the maximum size", undefined],
])("%i %j tells a window of %s", (status, message, windowTokens) => {
  const told = tooLongPrompt(status, message);
  expect(told).toEqual(windowTokens === undefined ? {} : { windowTokens });
});

test("another refusal is another refusal", () => {
  expect(tooLongPrompt(400, "messages: at least one message is required")).toBeUndefined();
  expect(tooLongPrompt(429, "prompt is too long")).toBeUndefined();
});
