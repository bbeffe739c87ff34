import { describe, expect, test } from "vitest";
import { MODELS } from "./models.ts";
import { PromptCache } from "./prompt-cache.ts";
import { estimateTokens } from "./tokens.ts";
import type { Json, JsonObject, ModelSpec } from "./types.ts";

const MINUTE = 60_000;
const FIVE = { type: "ephemeral" };
const HOUR = { type: "ephemeral", ttl: "1h" };
const [CURRENT] = MODELS;
if (CURRENT === undefined) throw new Error("there are no models");
const MODEL: ModelSpec = { ...CURRENT, cacheTokensMin: 100 };

const text = (value: string, mark?: JsonObject): JsonObject => ({
  type: "text",
  text: value.repeat(400),
  ...(mark !== undefined && { cache_control: mark }),
});
const user = (...content: Json[]): JsonObject => ({ role: "user", content });
const tool = (name: string, mark?: JsonObject): JsonObject => ({
  name,
  description: "d".repeat(400),
  input_schema: { type: "object" },
  ...(mark !== undefined && { cache_control: mark }),
});
const prompt = (over: JsonObject): JsonObject => ({ model: MODEL.id, messages: [], ...over });

/** Uses one prompt after the other and tells of each what was read, in tokens, and what was written. */
function uses(...prompts: readonly (JsonObject | { pass: number })[]) {
  let now = 0;
  const cache = new PromptCache(() => now);
  return prompts.flatMap((each) => {
    if (typeof each["pass"] === "number") {
      now += each["pass"];
      return [];
    }
    const { input, read, created } = cache.use(each as JsonObject, MODEL);
    const wrote = created["5m"] + created["1h"];
    expect(input + read + wrote).toBe(estimateTokens(each as JsonObject));
    return [{ read, wrote, hour: created["1h"], input }];
  });
}

describe("what is found", () => {
  const marked = prompt({ messages: [user(text("a", FIVE))] });

  test("a marked prefix is written, then read; an unmarked one is neither", () => {
    const [first, second] = uses(marked, marked);
    expect(first).toEqual({ read: 0, wrote: 104, hour: 0, input: 0 });
    expect(second).toEqual({ read: 104, wrote: 0, hour: 0, input: 0 });
    const bare = prompt({ messages: [user(text("a"))] });
    expect(uses(bare, bare).at(-1)).toMatchObject({ read: 0, wrote: 0, input: 104 });
  });

  test("the mark itself is no part of the prefix: it may move on", () => {
    const moved = prompt({ messages: [user(text("a"), text("b", FIVE))] });
    expect(uses(marked, moved).at(-1)).toMatchObject({ read: 104, wrote: 100 });
  });

  test("one byte before the mark makes it another prefix", () => {
    const other = prompt({ messages: [user({ ...text("a", FIVE), text: `${"a".repeat(399)}b` })] });
    expect(uses(marked, other).at(-1)).toMatchObject({ read: 0, wrote: 104 });
  });

  test("what was written only in passing is not found: there was no mark", () => {
    const both = prompt({ messages: [user(text("a"), text("b", FIVE))] });
    expect(uses(both, marked).at(-1)).toMatchObject({ read: 0, wrote: 104 });
    expect(uses(both, both).at(-1)).toMatchObject({ read: 204, wrote: 0 });
  });

  test("a mark at the top of the request is for its last block", () => {
    const automatic = prompt({ cache_control: FIVE, messages: [user(text("a"))] });
    expect(uses(automatic, automatic).at(-1)).toMatchObject({ read: 104 });
  });

  test("a mark within a result's content marks the result", () => {
    const result = (mark?: JsonObject) =>
      user({ type: "tool_result", tool_use_id: "1", content: [text("a", mark)] });
    const inside = prompt({ messages: [result(FIVE)] });
    expect(uses(inside, inside).at(-1)).toMatchObject({ read: 108 });
    const without = prompt({ messages: [result()] });
    expect(uses(without, without).at(-1)).toMatchObject({ read: 0 });
  });
});

test("from a mark the cache looks back over 20 blocks, not 21", () => {
  const start = prompt({ messages: [user(text("a", FIVE))] });
  const grown = (blocks: number) =>
    prompt({
      messages: [
        user(text("a"), ...Array.from({ length: blocks - 1 }, () => text("b")), text("c", FIVE)),
      ],
    });
  expect(uses(start, grown(19)).at(-1)).toMatchObject({ read: 104 });
  expect(uses(start, grown(20)).at(-1)).toMatchObject({ read: 0 });
});

test("a prefix below the model's minimum is not cached, one of exactly that size is", () => {
  const sized = (chars: number) =>
    prompt({ messages: [user({ type: "text", text: "a".repeat(chars), cache_control: FIVE })] });
  expect(uses(sized(380), sized(380)).at(-1)).toMatchObject({ read: 0, wrote: 0, input: 99 });
  expect(uses(sized(384), sized(384)).at(-1)).toMatchObject({ read: 100 });
});

describe("how long", () => {
  const five = prompt({ messages: [user(text("a", FIVE))] });
  const hour = prompt({ messages: [user(text("a", HOUR))] });

  test("five minutes from the last use", () => {
    const [, kept, renewed, gone] = uses(
      five,
      { pass: 5 * MINUTE - 1 },
      five,
      { pass: 5 * MINUTE - 1 },
      five,
      { pass: 5 * MINUTE },
      five,
    );
    expect([kept?.read, renewed?.read, gone?.read]).toEqual([104, 104, 0]);
  });

  test("an hour where the mark says so, told apart in the usage", () => {
    const [first, kept, gone] = uses(
      hour,
      { pass: 59 * MINUTE },
      hour,
      { pass: 60 * MINUTE },
      hour,
    );
    expect([first?.hour, kept?.read, gone?.read]).toEqual([104, 104, 0]);
  });

  test("each part is written for as long as its own mark says", () => {
    const both = prompt({ tools: [tool("a", HOUR)], messages: [user(text("a", FIVE))] });
    const [first] = uses(both);
    expect(first?.hour).toBeGreaterThan(100);
    expect((first?.wrote ?? 0) - (first?.hour ?? 0)).toBeGreaterThan(100);
  });
});

describe("what loses it", () => {
  const whole = (over: JsonObject = {}) =>
    prompt({
      tools: [tool("a")],
      system: [text("s", FIVE)],
      messages: [user(text("m", FIVE))],
      ...over,
    });
  const read = (over: JsonObject) => uses(whole(), whole(over)).at(-1)?.read;
  const all = estimateTokens(whole());

  test("another thinking setting or tool choice loses the messages, and only those", () => {
    expect(read({})).toBe(all);
    expect(read({ thinking: { type: "adaptive" } })).toBe(all - 104);
    expect(read({ tool_choice: { type: "none" } })).toBe(all - 104);
  });

  test("another tool, another model or another speed lose everything", () => {
    expect(read({ tools: [tool("b")] })).toBe(0);
    expect(read({ model: "another" })).toBe(0);
    expect(read({ speed: "fast" })).toBe(0);
  });

  test("max_tokens loses nothing", () => {
    expect(read({ max_tokens: 5 })).toBe(all);
  });
});
