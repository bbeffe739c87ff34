import { CHAT_MODELS, judgeChat } from "@drover/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelAbilities, ModelBlock, ModelMessage } from "../../core/ports/model.ts";
import { fitted } from "../fitting.ts";
import type { ProviderRequest } from "../provider.ts";
import { chatBody } from "./request.ts";

const ABILITIES: Readonly<Record<string, ModelAbilities>> = {
  large: {
    images: true,
    pdf: true,
    parallelTools: true,
    thinking: true,
    systemMessages: true,
    efforts: ["low", "medium", "high"],
  },
  "small:8b": {
    images: false,
    pdf: false,
    parallelTools: false,
    thinking: false,
    systemMessages: false,
    efforts: [],
  },
};

const text = fc
  .string({ minLength: 1 })
  .map((value): ModelBlock => ({ type: "text", text: value }));
const media = fc.constantFrom<ModelBlock>(
  { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
  { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
  { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
  { type: "document", title: "t", source: { type: "text", media_type: "text/plain", data: "n" } },
  { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } },
  { type: "search_result", source: "s", title: "t", content: [{ type: "text", text: "x" }] },
);
const input = fc.array(fc.oneof(text, media), { minLength: 1, maxLength: 4 });
const call = fc.record({
  name: fc.oneof(fc.constant("bash"), fc.string({ minLength: 1, maxLength: 200 })),
  input: fc.dictionary(fc.string(), fc.jsonValue()),
  result: fc.option(fc.array(fc.oneof(text, media), { maxLength: 3 }), { nil: undefined }),
  is_error: fc.boolean(),
});
const turn = fc.record({
  input,
  thinks: fc.boolean(),
  says: fc.option(text, { nil: undefined }),
  calls: fc.array(call, { maxLength: 3 }),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

/** A conversation as the harness makes them: it ends with the user's words or with results. */
function conversation(turns: readonly Turn[]): readonly ModelMessage[] {
  const messages: { role: "user" | "assistant"; content: ModelBlock[] }[] = [];
  for (const [at, { input: said, thinks, says, calls }] of turns.entries()) {
    const ids = calls.map((_, index) => `toolu_${at}_${index}`);
    const last = messages.at(-1);
    if (last?.role === "user") last.content.push(...said);
    else messages.push({ role: "user", content: [...said] });
    messages.push({
      role: "assistant",
      content: [
        ...(thinks ? [{ type: "thinking", thinking: "hm", signature: "unsigned" }] : []),
        ...(says === undefined && calls.length > 0 ? [] : [says ?? { type: "text", text: "." }]),
        ...calls.map((it, index) => {
          return { type: "tool_use", id: ids[index], name: it.name, input: it.input };
        }),
      ],
    });
    const results = calls.map(({ result, is_error }, index): ModelBlock => {
      const content = result === undefined || result.length === 0 ? {} : { content: result };
      return { type: "tool_result", tool_use_id: ids[index], ...content, is_error };
    });
    messages.push({ role: "user", content: [...results, ...(calls.length > 0 ? [] : said)] });
  }
  return messages;
}

describe.each(CHAT_MODELS)("for the model $id", (model) => {
  test("every conversation that the harness can have is one that a strict server takes", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 4 }), fc.boolean(), (turns, tools) => {
        const request: ProviderRequest = {
          model: model.id,
          system: [{ type: "text", text: "Be brief." }],
          messages: conversation(turns),
          tools: tools
            ? [{ name: "bash", description: "runs", input_schema: { type: "object" } }]
            : [],
          max_tokens: 4_096,
          effort: "high",
        };
        const { request: taken } = fitted(request, ABILITIES[model.id], model.id);
        const body = chatBody(taken, { leaveOut: [], maxTokensField: "max_tokens" });
        const verdict = judgeChat({
          headers: { authorization: "Bearer k", "content-type": "application/json" },
          rawBytes: 1,
          body: JSON.parse(JSON.stringify(body)),
          parseError: undefined,
          model,
          apiKey: "k",
          refuses: [],
        });
        expect(verdict).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});
