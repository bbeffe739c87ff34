import { expect, test } from "vitest";
import { brokenRules } from "./checks.ts";
import type { LoggedEvent, SessionSnapshot } from "./snapshot.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");

/** A session with one message and one call, whose line was written before its answer. */
const EVENTS: readonly LoggedEvent[] = [
  event("user.message", "message", { content: [{ type: "text", text: "Message m1." }] }),
  event("span.model_request_start", "request"),
  event("agent.message", "said"),
  event("agent.tool_use", "call", { input: { command: 'echo "m1-1 $EPOCHREALTIME" >> lines' } }),
  event("span.model_request_end", "end", { model_request_start_id: "request" }),
  event("drover.call_started", "started", {}, { call_id: "call" }),
  event("agent.tool_result", "result", { tool_use_id: "call" }, { reason: "executed" }),
  event("session.status_idle", "idle", { stop_reason: { type: "end_turn" } }),
];
const SENT = [{ sessionId: "sesn_1", mark: "m1", eventId: "message" }];
const LINE = { mark: "m1-1", atMs: START };

test("finds nothing in a session in which all is well", () => {
  expect(brokenRules(snapshot(EVENTS), SENT)).toEqual([]);
});

test.each<[string, SessionSnapshot]>([
  ["its status is running", { ...snapshot(EVENTS), status: "running" }],
  ["it is due", { ...snapshot(EVENTS), isDue: true }],
  ["1 events wait to be taken up", { ...snapshot(EVENTS), waiting: 1 }],
  ["its log ends with agent.tool_result", snapshot(EVENTS.slice(0, -1))],
  ["8 events, last seq 9", { ...snapshot(EVENTS), lastSeq: 9 }],
  ["event 2 has seq 3", { ...snapshot(EVENTS), events: places(EVENTS, [1, 3, 3, 4, 5, 6, 7, 8]) }],
  ["event 3 has epoch 1 after 2", snapshot(changed("request", { epoch: 2 }))],
  ["event 3 is older than the one before", snapshot(changed("request", { processedAt: at(1) }))],
  ["request request has 0 ends", snapshot(without("end"))],
  ["message m1 was acknowledged and is lost", snapshot(without("message"))],
  ["message m1 was taken up 2 times", snapshot(twice("message"))],
  [
    "message m1 was acknowledged as message and is other",
    snapshot(changed("message", { id: "other" })),
  ],
  ["message m1 was not answered", snapshot(without("said"))],
  ["call call (m1-1) has 0 results", snapshot(without("result"))],
  ["call call (m1-1) has 2 results", snapshot(twice("result"))],
  ["call call (m1-1) was journalled 2 times", snapshot(twice("started"))],
  ["m1-1 ran and was never journalled", snapshot(without("started"))],
  ["m1-1 is answered and never ran", { ...snapshot(EVENTS), lines: [] }],
  ["m1-1 ran 2 times (executed)", { ...snapshot(EVENTS), lines: [LINE, LINE] }],
  ["m1-1 wrote 50 ms after its answer (lost)", answered("lost", 50)],
  ["m1-1 wrote 1500 ms after its answer (turn_failed)", answered("turn_failed", 1_500)],
  [
    "m2-1 ran and is in no log",
    { ...snapshot(EVENTS), lines: [LINE, { mark: "m2-1", atMs: START }] },
  ],
])("finds that %s", (sentence, session) => {
  expect(brokenRules(session, SENT)).toContain(`sesn_1: ${sentence}`);
});

test("takes a message that was never acknowledged as lost or taken up once", () => {
  const sent = [{ sessionId: "sesn_1", mark: "m1", eventId: undefined }];
  expect(brokenRules(snapshot([]), sent)).toEqual(["sesn_1: m1-1 ran and is in no log"]);
  expect(brokenRules(snapshot(EVENTS), sent)).toEqual([]);
});

test("takes input that follows the error of a turn that was given up as answered", () => {
  const given = [
    event("session.status_running", "running"),
    event("session.error", "error"),
    event("user.message", "message", { content: [{ type: "text", text: "Message m1." }] }),
    event("session.status_idle", "idle", { stop_reason: { type: "retries_exhausted" } }),
  ];
  expect(brokenRules({ ...snapshot(given), lines: [] }, SENT)).toEqual([]);
});

function event(
  type: string,
  id: string,
  body: LoggedEvent["body"] = {},
  origin: LoggedEvent["origin"] = {},
): LoggedEvent {
  return { seq: 0, id, type, epoch: 1, processedAt: at(0), body, origin };
}

function at(ms: number): string {
  return new Date(START + ms).toISOString();
}

function snapshot(events: readonly LoggedEvent[]): SessionSnapshot {
  const placed = events.map((one, index) => ({ ...one, seq: index + 1 }));
  const lastSeq = events.length;
  const rest = { status: "idle", isDue: false, waiting: 0, lines: [LINE] };
  return { id: "sesn_1", ...rest, lastSeq, events: placed };
}

function places(events: readonly LoggedEvent[], seqs: readonly number[]): readonly LoggedEvent[] {
  return events.map((one, index) => ({ ...one, seq: seqs[index] ?? 0 }));
}

function changed(id: string, change: Partial<LoggedEvent>): readonly LoggedEvent[] {
  return EVENTS.map((one) => (one.id === id ? { ...one, ...change } : one));
}

function without(id: string): readonly LoggedEvent[] {
  return EVENTS.filter((one) => one.id !== id);
}

function twice(id: string): readonly LoggedEvent[] {
  return EVENTS.flatMap((one) => (one.id === id ? [one, one] : [one]));
}

function answered(reason: string, lateMs: number): SessionSnapshot {
  const events = changed("result", { origin: { reason } });
  return { ...snapshot(events), lines: [{ ...LINE, atMs: START + lateMs }] };
}
