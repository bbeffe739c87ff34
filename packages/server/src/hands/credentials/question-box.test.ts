import { expect, test } from "vitest";
import type { CredentialQuestion } from "../../core/ports/credential-broker.ts";
import { ManualClock } from "../fake/manual-clock.ts";
import { QuestionBox } from "./question-box.ts";

const never = new AbortController().signal;
const QUESTION: CredentialQuestion = {
  type: "offers",
  session: { workspaceId: "wrkspc_1", sessionId: "sesn_1", grant: "g" },
};
const ANSWER = { type: "offers", offers: [] } as const;

test("a server that waits gets a question at once, and its answer goes to who asked", async () => {
  const box = new QuestionBox(new ManualClock());
  const taking = box.take(25_000, never);
  const asked = box.ask(QUESTION, never);
  const [taken] = await taking;
  expect(taken?.question).toEqual(QUESTION);
  box.answer(taken?.id ?? "", ANSWER);
  expect(await asked).toEqual(ANSWER);
});

test("a question is one server's, and another's after five seconds without an answer", async () => {
  const clock = new ManualClock();
  const box = new QuestionBox(clock);
  const asked = box.ask(QUESTION, never);
  const [first] = await box.take(0, never);
  expect(await box.take(0, never)).toEqual([]);
  const waiting = box.take(25_000, never);
  await clock.advance(5_000);
  expect(await waiting).toEqual([first]);
  box.answer(first?.id ?? "", ANSWER);
  expect(await asked).toEqual(ANSWER);
  // Of both that were asked, the one that is late changes nothing.
  box.answer(first?.id ?? "", { type: "noted" });
});

test("who asks and hears nothing for half a minute goes without, and so does who is gone", async () => {
  const clock = new ManualClock();
  const box = new QuestionBox(clock);
  const asked = box.ask(QUESTION, never);
  const gone = new AbortController();
  const given = box.ask(QUESTION, gone.signal);
  gone.abort();
  expect(await given).toBeUndefined();
  await clock.advance(29_999);
  expect(await box.take(0, never)).toHaveLength(1);
  await clock.advance(1);
  expect(await asked).toBeUndefined();
  expect(await box.take(0, never)).toEqual([]);
  expect(await box.ask(QUESTION, AbortSignal.abort())).toBeUndefined();
  // Nothing is left that would wait.
  await clock.advance(60_000);
  expect(clock.sleepers).toBe(0);
});

test("a wait ends with its time and with who waits", async () => {
  const clock = new ManualClock();
  const box = new QuestionBox(clock);
  const waiting = box.take(1_000, never);
  await clock.advance(1_000);
  expect(await waiting).toEqual([]);
  const gone = new AbortController();
  const given = box.take(25_000, gone.signal);
  gone.abort();
  expect(await given).toEqual([]);
});
