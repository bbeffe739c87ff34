import fc from "fast-check";
import { expect, test } from "vitest";
import { text } from "../../testing/logs.ts";
import type { ModelMessage } from "../ports/model.ts";
import { merged, withSystemTurns } from "./message-order.ts";

const said = (role: ModelMessage["role"], ...texts: string[]): ModelMessage => ({
  role,
  content: texts.map(text),
});

test("what the system said stands behind all that the user said until the next answer", () => {
  const spoken = [
    said("user", "a"),
    said("system", "A"),
    said("user", "b"),
    said("system", "B"),
    said("assistant", "c"),
    said("user", "d"),
    said("system", "D"),
  ];
  expect(merged(spoken)).toEqual([
    said("user", "a", "b"),
    said("system", "A", "B"),
    said("assistant", "c"),
    said("user", "d"),
    said("system", "D"),
  ]);
});

test("a model without system turns reads them as text of the user's, under their name", () => {
  const spoken = merged([said("user", "a"), said("system", "Be brief."), said("assistant", "b")]);
  expect(withSystemTurns(spoken, "text")).toEqual([
    said("user", "a", "<system_message>\nBe brief.\n</system_message>"),
    said("assistant", "b"),
  ]);
});

test("whatever is said in whatever order, the conversation is one that the API takes", () => {
  const role = fc.constantFrom<ModelMessage["role"]>("user", "assistant", "system");
  const message = fc.tuple(role, fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }));
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      fc.constantFrom("turn" as const, "text" as const, "refused" as const),
      (spoken, systemTurns) => {
        const messages = spoken.map(([who, texts]) => said(who, ...texts));
        const ordered = withSystemTurns(merged(messages), systemTurns);
        for (const [index, { role: own, content }] of ordered.entries()) {
          expect(content).not.toEqual([]);
          const [before, after] = [ordered[index - 1]?.role, ordered[index + 1]?.role];
          expect(before).not.toBe(own);
          if (own !== "system") continue;
          expect(systemTurns).toBe("turn");
          expect([before, after ?? "assistant"]).toEqual(["user", "assistant"]);
        }
        const count = (list: readonly ModelMessage[]) =>
          list.reduce((sum, { content }) => sum + content.length, 0);
        expect(count(ordered)).toBe(count(messages));
      },
    ),
  );
});
