import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelBlock, ModelMessage, ModelRequest } from "../ports/model.ts";
import { requestTokens, summaryRequest } from "./summary-request.ts";

const text = (value: string): ModelBlock => ({ type: "text", text: value });
const request = (messages: readonly ModelMessage[]): ModelRequest => ({
  model: "m",
  max_tokens: 100,
  system: [text("Be brief.")],
  tools: [],
  messages,
});
const round = (n: number, output: string): ModelMessage[] => [
  { role: "user", content: [text(`do ${n}`)] },
  {
    role: "assistant",
    content: [text("I do."), { type: "tool_use", id: `t${n}`, name: "read", input: { n } }],
  },
  {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: `t${n}`, content: [text(output)] }],
  },
  { role: "assistant", content: [text(`done ${n}`)] },
];

test("what fits is asked about as it is, so that its prefix is in the cache", () => {
  const messages = round(1, "output");
  const asked = summaryRequest(request(messages), 100_000);
  expect(asked.messages.slice(0, -1)).toEqual(messages);
  expect(asked.messages.at(-1)?.role).toBe("user");
  expect(asked.purpose).toBe("compaction");
});

test("the question stands before what the system said last", () => {
  const system = { role: "system" as const, content: [text("Be quick.")] };
  const asked = summaryRequest(request([{ role: "user", content: [text("go")] }, system]), 100_000);
  expect(asked.messages.map(({ role }) => role)).toEqual(["user", "system"]);
  expect(asked.messages[0]?.content).toHaveLength(2);
});

test("where it does not fit long outputs and images are shortened first, and calls stay", () => {
  const messages = [
    ...round(1, "x".repeat(30_000)),
    { role: "user" as const, content: [{ type: "image", source: { data: "A".repeat(100) } }] },
  ];
  const asked = summaryRequest(request(messages), 5_000);
  const sent = JSON.stringify(asked.messages);
  expect(sent).toContain("29000 characters are left out here");
  expect(sent).toContain('"tool_use_id":"t1"');
  expect(sent).not.toContain('"image"');
  expect(sent).toContain("(image)");
});

test("it fits, however much there is, and has the first and the newest in it", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 20_000 }),
      fc.integer({ min: 1_500, max: 30_000 }),
      (rounds, chars, tokensMax) => {
        const messages = Array.from({ length: rounds }, (_, n) => round(n, "y".repeat(chars)));
        const asked = summaryRequest(request(messages.flat()), tokensMax);
        expect(requestTokens(asked)).toBeLessThanOrEqual(tokensMax);
        const sent = JSON.stringify(asked.messages);
        expect(sent).toContain("do 0");
        expect(sent).toContain(`done ${rounds - 1}`);
      },
    ),
    { numRuns: 60 },
  );
});
