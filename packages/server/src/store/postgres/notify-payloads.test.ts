import fc from "fast-check";
import { expect, test } from "vitest";
import type { Announcement } from "../../core/ports/announcements.ts";
import { merged, payloadsOf, readPayload } from "./notify-payloads.ts";

function delta(text: string): Announcement {
  return {
    type: "preview",
    workspaceId: "wrkspc_1",
    sessionId: "sesn_1",
    threadId: "sthr_1",
    preview: {
      type: "event_delta",
      event_id: "sevt_1",
      delta: { type: "content_delta", index: 0, content: { type: "text", text } },
    },
  };
}

function textOf(announcements: readonly Announcement[]): string {
  return announcements
    .map((each) =>
      each.type === "preview" && each.preview.type === "event_delta"
        ? each.preview.delta.content.text
        : "",
    )
    .join("");
}

test("any text arrives whole, in payloads that PostgreSQL takes", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 5_000 }),
    fc.constantFrom(
      "\0".repeat(4_000),
      "😀".repeat(3_001),
      `x${"😀".repeat(2_000)}`,
      "\ud800".repeat(2_500),
    ),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
      const payloads = payloadsOf("server", texts.map(delta));
      for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
      const heard = payloads.flatMap((payload) => readPayload(payload)?.list ?? []);
      expect(textOf(heard)).toBe(texts.join(""));
    }),
    { numRuns: 50 },
  );
});

test("many sessions fit in one payload", () => {
  const many = Array.from(
    { length: 64 },
    (_, index): Announcement => ({
      type: "changed",
      workspaceId: "wrkspc_default",
      sessionId: `sesn_${String(index).padStart(24, "0")}`,
      lastSeq: 1_000_000,
      due: true,
    }),
  );
  const payloads = payloadsOf("7f3c1b52-6a4e-4f0e-9a49-0b1a3c7d5e11", many);
  expect(payloads.length).toBeLessThanOrEqual(2);
  expect(payloads.flatMap((payload) => readPayload(payload)?.list ?? [])).toEqual(many);
});

test("what is said twice of a session is said once, and nothing else", () => {
  const changed = (lastSeq: number, due: boolean): Announcement => ({
    type: "changed",
    workspaceId: "wrkspc_1",
    sessionId: "sesn_1",
    lastSeq,
    due,
  });
  expect(merged(changed(4, true), changed(3, false))).toEqual(changed(4, true));
  expect(merged(delta("to"), delta("gether"))).toEqual(delta("together"));
  expect(merged(changed(1, true), delta("x"))).toBeUndefined();
  expect(merged(delta("x"), changed(1, true))).toBeUndefined();
});

test("what is no payload of Drover's is nothing", () => {
  expect(readPayload("")).toBeUndefined();
  expect(readPayload('{"from":"x","list":[{"type":"changed"}]}')).toBeUndefined();
});
