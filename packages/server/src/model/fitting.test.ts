import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Effort, ModelAbilities, ModelBlock, ModelMessage } from "../core/ports/model.ts";
import { fitted } from "./fitting.ts";
import type { ProviderRequest } from "./provider.ts";
import { oneToolAtATime } from "./serial-tools.ts";

const ALL: ModelAbilities = {
  images: true,
  pdf: true,
  parallelTools: true,
  thinking: true,
  systemMessages: true,
  efforts: ["low", "medium", "high", "xhigh", "max"],
};
const IMAGE = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
const PDF = {
  type: "document",
  title: "Paper",
  source: { type: "base64", media_type: "application/pdf", data: "AA==" },
};
const NOTES = {
  type: "document",
  source: { type: "text", media_type: "text/plain", data: "notes" },
};

function fitFor(content: readonly ModelBlock[], lacks: Partial<ModelAbilities>, effort?: Effort) {
  const request: ProviderRequest = {
    model: "upstream",
    system: [],
    messages: [{ role: "user", content }],
    tools: [],
    max_tokens: 100,
    ...(effort !== undefined && { effort }),
  };
  return fitted(request, { ...ALL, ...lacks }, "our-model");
}

const contentOf = ({ request }: ReturnType<typeof fitFor>) => request.messages[0]?.content;

describe("fitted", () => {
  test("changes nothing for a model that can do all, or of which nothing is known", () => {
    const { request, heldBack } = fitFor([IMAGE, PDF, NOTES], {}, "max");
    expect(contentOf({ request, heldBack })).toEqual([IMAGE, PDF, NOTES]);
    expect([request.effort, heldBack]).toEqual(["max", []]);
    expect(fitted(request, undefined, "x")).toEqual({ request, heldBack: [] });
  });

  test("puts words where an image stood, also in a tool's result, and says so once", () => {
    const result = { type: "tool_result", tool_use_id: "a", content: [text("seen"), IMAGE] };
    const fits = fitFor([result, IMAGE, IMAGE], { images: false });
    const words = text("[An image was here. You cannot see images.]");
    expect(contentOf(fits)).toEqual([{ ...result, content: [text("seen"), words] }, words, words]);
    expect(fits.heldBack).toEqual([expect.stringMatching(/^The model our-model takes no images:/)]);
  });

  test("puts words where a PDF stood, and leaves plain documents", () => {
    const fits = fitFor([PDF, NOTES], { pdf: false });
    expect(contentOf(fits)).toEqual([
      text("[A PDF document was here (Paper). You cannot read PDF documents.]"),
      NOTES,
    ]);
    expect(fits.heldBack).toEqual([expect.stringMatching(/takes no PDF documents/)]);
  });

  test("leaves thinking out for a model that does not think", () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "s" };
    const fits = fitFor([thinking, text("a")], { thinking: false });
    expect(contentOf(fits)).toEqual([text("a")]);
    expect(fits.heldBack).toHaveLength(1);
  });

  test("says what the system says in the middle as the user's words, where it must", () => {
    const messages: readonly ModelMessage[] = [
      { role: "user", content: [text("a")] },
      { role: "system", content: [text("Be brief.")] },
    ];
    const request = { model: "m", system: [], messages, tools: [], max_tokens: 1 };
    expect(fitted(request, ALL, "m").request.messages).toEqual(messages);
    expect(fitted(request, { ...ALL, systemMessages: false }, "m").request.messages).toEqual([
      {
        role: "user",
        content: [text("a"), text("<system_message>\nBe brief.\n</system_message>")],
      },
    ]);
  });

  test.each<[Effort, readonly Effort[], Effort | undefined]>([
    ["high", [], undefined],
    ["max", ["low", "high"], "high"],
    ["medium", ["low", "high"], "low"],
    ["low", ["medium"], "medium"],
  ])("asks for the effort %s of a model that knows %j as %s", (effort, efforts, expected) => {
    expect(fitFor([text("a")], { efforts }, effort).request.effort).toBe(expected);
  });
});

describe("oneToolAtATime", () => {
  test("tells calls that were made at once one after another, with what stood beside them", () => {
    const told = oneToolAtATime([
      { role: "user", content: [text("go")] },
      { role: "assistant", content: [text("two"), use("a"), use("b")] },
      { role: "user", content: [result("a"), result("b"), text("and?")] },
      { role: "assistant", content: [text("one"), use("c")] },
      { role: "user", content: [result("c")] },
    ]);
    expect(told).toEqual([
      { role: "user", content: [text("go")] },
      { role: "assistant", content: [text("two"), use("a")] },
      { role: "user", content: [result("a")] },
      { role: "assistant", content: [use("b")] },
      { role: "user", content: [result("b"), text("and?")] },
      { role: "assistant", content: [text("one"), use("c")] },
      { role: "user", content: [result("c")] },
    ]);
  });

  test("keeps every block in its order, with at most one call in a message", () => {
    const counts = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 8 });
    fc.assert(
      fc.property(counts, (calls) => {
        const messages = calls.flatMap((count, turn): readonly ModelMessage[] => {
          const ids = Array.from({ length: count }, (_, index) => `${turn}_${index}`);
          return [
            { role: "assistant", content: [text(`turn ${turn}`), ...ids.map(use)] },
            { role: "user", content: [...ids.map(result), text("next")] },
          ];
        });
        const told = oneToolAtATime(messages);
        const ofType = (all: readonly ModelMessage[], type: string) =>
          all.flatMap(({ content }) => content.filter((block) => block.type === type));
        for (const type of ["text", "tool_use", "tool_result"]) {
          expect(ofType(told, type)).toEqual(ofType(messages, type));
        }
        for (const [index, { role, content }] of told.entries()) {
          expect(role).toBe(index % 2 === 0 ? "assistant" : "user");
          expect(content.length).toBeGreaterThan(0);
          const uses = content.filter((block) => block.type === "tool_use");
          expect(uses.length).toBeLessThan(2);
          const results = told[index + 1]?.content.filter((it) => it.type === "tool_result") ?? [];
          if (uses.length > 0) expect(results[0]?.["tool_use_id"]).toBe(uses[0]?.["id"]);
        }
      }),
    );
  });
});

function text(value: string): ModelBlock {
  return { type: "text", text: value };
}

function use(id: string): ModelBlock {
  return { type: "tool_use", id, name: "bash", input: {} };
}

function result(id: string): ModelBlock {
  return { type: "tool_result", tool_use_id: id, content: [text("ok")] };
}
