import { expect, test } from "vitest";
import { EVENT_VERSION } from "./log-event.ts";
import { type StoredEvent, upcast } from "./upcast.ts";

const STORED: StoredEvent = {
  id: "sevt_1",
  type: "session.status_running",
  thread_id: "sthr_1",
  cross_posted: false,
  seq: 1,
  v: EVENT_VERSION,
  processed_at: "2026-01-02T03:04:05.678Z",
  epoch: 1,
  public: {},
  private: {},
};

test("leaves an event of the present version as it is", () => {
  expect(upcast(STORED)).toBe(STORED);
});

test("a compaction that does not say where the kept part begins stands for all before it", () => {
  const stored = { ...STORED, type: "agent.thread_context_compacted", seq: 7 };
  const summary = [{ type: "text", text: "what was before" }];
  expect(upcast({ ...stored, private: { summary } }).private).toEqual({
    how: "summary",
    summary,
    input: [],
    kept_from: 7,
    tokens_before: 0,
    tokens_after: 0,
  });
  const whole = { how: "cut", summary, input: [], kept_from: 3, tokens_before: 5, tokens_after: 2 };
  expect(upcast({ ...stored, private: whole }).private).toBe(whole);
});

test.each<[string, Partial<StoredEvent>]>([
  ["of a newer version", { v: EVENT_VERSION + 1 }],
  ["of no version", { v: 0 }],
  ["of a type that is not known", { type: "session.from_the_future" }],
  ["of a type that every object has", { type: "constructor" }],
  ["without a public body", { public: null }],
  ["with a public body that is no object", { public: "text" }],
  ["without a private body", { private: null }],
  ["with a private body that is no object", { private: 1 }],
])("refuses an event %s, and names it", (_name, changes) => {
  expect(() => upcast({ ...STORED, ...changes })).toThrow(/event sevt_1 .*newer Drover/);
});
