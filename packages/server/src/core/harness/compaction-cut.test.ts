import fc from "fast-check";
import { expect, test } from "vitest";
import {
  committed,
  compactionBody,
  responded,
  testDrafting,
  text,
  thinking,
  toolUse,
  userMessage,
} from "../../testing/logs.ts";
import type { EventDraft, LogEvent } from "../session/log-event.ts";
import { compactionCut } from "./compaction-cut.ts";
import { contextMessages } from "./context.ts";
import { draft } from "./drafting.ts";

/** What a log is made of: input, or a response with some calls, whose results come in any order. */
const part = fc.oneof(
  fc.record({ kind: fc.constant("input" as const), chars: fc.integer({ min: 1, max: 3_000 }) }),
  fc.record({
    kind: fc.constant("response" as const),
    chars: fc.integer({ min: 1, max: 3_000 }),
    calls: fc.array(fc.constantFrom("read", "client_ask"), { maxLength: 4 }),
    order: fc.integer(),
  }),
);
const parts = fc.array(part, { minLength: 1, maxLength: 25 });
const bounds = fc.record({
  promptMax: fc.integer({ min: 100, max: 20_000 }),
  compactions: fc.integer({ min: 0, max: 3 }),
});

type Value<T> = T extends fc.Arbitrary<infer V> ? V : never;

function logOf(list: readonly Value<typeof part>[]): readonly LogEvent[] {
  const drafting = testDrafting();
  const drafts = list.flatMap((each, index): readonly EventDraft[] => {
    if (each.kind === "input") return [userMessage(drafting, "u".repeat(each.chars))];
    const request = `start_${index}`;
    const start = draft(
      drafting,
      "span.model_request_start",
      { public: {}, private: { model: "m", attempt: 1 } },
      request,
    );
    const calls = each.calls.map((name, n) => toolUse(`toolu_${index}_${n}`, name));
    const blocks = [thinking("hm"), text("a".repeat(each.chars)), ...calls];
    const response = responded(drafting, blocks, request);
    const results = response.flatMap((event) => resultOf(drafting, event, each.chars));
    return [start, ...response, ...(each.order % 2 === 0 ? results : results.toReversed())];
  });
  return committed(drafts);
}

function resultOf(
  drafting: ReturnType<typeof testDrafting>,
  event: EventDraft,
  chars: number,
): readonly EventDraft[] {
  const content = [{ type: "text" as const, text: "r".repeat(chars) }];
  if (event.type === "agent.tool_use") {
    const shown = { tool_use_id: event.id, content, is_error: false };
    return [
      draft(drafting, "agent.tool_result", { public: shown, private: { reason: "executed" } }),
    ];
  }
  if (event.type !== "agent.custom_tool_use") return [];
  const shown = { custom_tool_use_id: event.id, content, is_error: false };
  return [draft(drafting, "user.custom_tool_result", { public: shown, private: {} })];
}

/** The log with the compaction that the cut leads to. */
function compacted(log: readonly LogEvent[], given: Value<typeof bounds>) {
  const cut = compactionCut(log, given);
  const body = compactionBody({ kept_from: cut.keptFrom, input: cut.input });
  const event = draft(testDrafting(), "agent.thread_context_compacted", {
    public: {},
    private: body,
  });
  return { cut, log: [...log, ...committed([{ ...event, id: "compacted" }], log.at(-1)?.seq)] };
}

const requestIn = (event: LogEvent) =>
  "request" in event.private ? event.private.request : undefined;

test("no response is cut apart, and no call from its result", () => {
  fc.assert(
    fc.property(parts, bounds, (list, given) => {
      const log = logOf(list);
      const { keptFrom } = compactionCut(log, given);
      const kept = log.filter(({ seq }) => seq >= keptFrom);
      const keptIds = new Set(kept.map(({ id }) => id));
      for (const event of kept) {
        const siblings = log.filter((each) => {
          return requestIn(event) !== undefined && requestIn(each) === requestIn(event);
        });
        for (const sibling of siblings) expect(keptIds).toContain(sibling.id);
        if (event.type === "agent.tool_result") expect(keptIds).toContain(event.public.tool_use_id);
        if (event.type === "user.custom_tool_result") {
          expect(keptIds).toContain(event.public.custom_tool_use_id);
        }
      }
    }),
  );
});

test("input that is not answered is kept as it is", () => {
  fc.assert(
    fc.property(parts, bounds, (list, given) => {
      const log = logOf([...list, { kind: "input", chars: 5_000 }]);
      const { keptFrom, input } = compactionCut(log, given);
      expect(keptFrom).toBeLessThanOrEqual(log.at(-1)?.seq ?? 0);
      expect(input).toEqual([]);
    }),
  );
});

test("what is sent after it is a conversation, and ends as it did before", () => {
  fc.assert(
    fc.property(parts, bounds, (list, given) => {
      const log = logOf([{ kind: "input", chars: 10 }, ...list]);
      const { log: after, cut } = compacted(log, given);
      const messages = contextMessages(after);
      expect(messages[0]?.role).toBe("user");
      for (const [index, { role, content }] of messages.entries()) {
        expect(role).toBe(index % 2 === 0 ? "user" : "assistant");
        const ids = content.flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
        const answered = (messages[index + 1]?.content ?? []).flatMap((block) =>
          block.type === "tool_result" ? [block["tool_use_id"]] : [],
        );
        if (ids.length > 0) expect(answered).toEqual(ids);
      }
      const kept = log.filter(({ seq }) => seq >= cut.keptFrom);
      const [, ...rest] = contextMessages(kept);
      expect(messages.slice(messages.length - rest.length)).toEqual(rest);
    }),
  );
});

test("the newest input is repeated where it is cut off from what came of it, also a second time", () => {
  const work = { kind: "response" as const, chars: 600, calls: ["read" as const], order: 0 };
  const log = logOf([{ kind: "input", chars: 10 }, ...Array.from({ length: 20 }, () => work)]);
  const { cut, log: once } = compacted(log, { promptMax: 4_000, compactions: 0 });
  expect(cut.keptFrom).toBeGreaterThan(1);
  expect(cut.input).toEqual([text("u".repeat(10))]);
  const again = compactionCut(
    once.filter(({ seq }) => seq >= cut.keptFrom),
    { promptMax: 2_000, compactions: 0 },
  );
  expect(again.keptFrom).toBeGreaterThan(cut.keptFrom);
  expect(again.input).toEqual(cut.input);
});

test("the more compactions in a row, the less is kept", () => {
  const work = { kind: "response" as const, chars: 600, calls: ["read" as const], order: 0 };
  const log = logOf([{ kind: "input", chars: 10 }, ...Array.from({ length: 20 }, () => work)]);
  const from = [0, 1, 2].map(
    (compactions) => compactionCut(log, { promptMax: 8_000, compactions }).keptFrom,
  );
  expect(from).toEqual(from.toSorted((a, b) => a - b));
  expect(new Set(from).size).toBe(3);
});
