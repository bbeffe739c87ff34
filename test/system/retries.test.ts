import { answer, failing, toolCall } from "@drover/testing";
import { describe, expect, test } from "vitest";
import {
  Conversation,
  isType,
  messagesOf,
  resultsOf,
  type SessionEvent,
  typesOf,
} from "./support/conversation.ts";
import { holdBack, script } from "./support/last-words.ts";
import { newWorld, useWorld } from "./support/world.ts";

const QUICK = { DROVER_MODEL_BACKOFF_MS: "50" };
const world = useWorld(QUICK);

const OVERLOADED = { type: "status", status: 529, error_type: "overloaded_error" } as const;
const BEGINNING = ["session.status_running", "session.thread_status_running", "user.message"];
const REQUEST = ["span.model_request_start", "span.model_request_end"];
const BACK_OFF = [
  ...REQUEST,
  "session.error",
  "session.status_rescheduled",
  "session.thread_status_rescheduled",
];
const RUNNING = ["session.status_running", "session.thread_status_running"];
const ANSWERED = ["span.model_request_start", "agent.message", "span.model_request_end"];
const ENDING = ["session.thread_status_idle", "session.usage", "session.status_idle"];

describe.concurrent("a model", () => {
  test("that is overloaded twice is asked a third time, and the turn ends as if nothing was", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script(failing({ ...OVERLOADED, times: 2 }, "at last")));
    const history = await talk.afterTurns(1);
    expect(typesOf(history)).toEqual([
      ...BEGINNING,
      ...BACK_OFF,
      ...RUNNING,
      ...BACK_OFF,
      ...RUNNING,
      ...ANSWERED,
      ...ENDING,
    ]);
    expect(errorsOf(history)).toEqual([
      ["model_overloaded_error", "retrying"],
      ["model_overloaded_error", "retrying"],
    ]);
    expect(messagesOf(history)).toEqual(["at last"]);
    expect(stopReasonOf(history)).toBe("end_turn");
  });

  test("that stays overloaded exhausts the turn, whose waiting input the next turn sees", async () => {
    const talk = await Conversation.open(world());
    const first = holdBack(failing(OVERLOADED));
    await talk.say(script(first.answer));
    await talk.event(isType("span.model_request_start"));
    // Each attempt is with the newest message, so this one has to fail as well.
    await talk.say(script(failing(OVERLOADED)));
    first.letGo();
    const exhausted = await talk.event(
      (event) => event.type === "session.error" && event.error.retry_status.type === "exhausted",
    );
    const history = await talk.afterTurns(1);
    const errors = errorsOf(history);
    expect(errors.slice(0, -1)).toEqual(
      Array.from({ length: errors.length - 1 }, () => ["model_overloaded_error", "retrying"]),
    );
    expect(errors.at(-1)).toEqual(["model_overloaded_error", "exhausted"]);
    expect(stopReasonOf(history)).toBe("retries_exhausted");
    expect(await talk.status()).toBe("idle");
    expect(history.indexOf(history.find(({ id }) => id === exhausted.id) ?? exhausted)).toBe(
      history.length - 1 - ENDING.length,
    );
    expect(history.filter(isType("user.message")).map(({ processed_at }) => processed_at)).toEqual([
      expect.any(String),
      expect.any(String),
    ]);
    await talk.say("again");
    expect(messagesOf(await talk.afterTurns(2))).toEqual(["You said: again"]);
  });

  test("that refuses the request exhausts the turn at once, and the next message works", async () => {
    const talk = await Conversation.open(world());
    const refusal = { type: "status", status: 400, error_type: "invalid_request_error" } as const;
    await talk.say(script(failing({ ...refusal, message: "no such thing" })));
    const history = await talk.afterTurns(1);
    expect(typesOf(history)).toEqual([...BEGINNING, ...REQUEST, "session.error", ...ENDING]);
    expect(errorsOf(history)).toEqual([["model_request_failed_error", "exhausted"]]);
    expect(stopReasonOf(history)).toBe("retries_exhausted");
    await talk.say("again");
    expect(messagesOf(await talk.afterTurns(2))).toEqual(["You said: again"]);
  });

  test("whose refusal comes while input waits leaves that input in the log", async () => {
    const talk = await Conversation.open(world());
    const refusal = { type: "status", status: 400, error_type: "invalid_request_error" } as const;
    const first = holdBack(failing(refusal));
    await talk.say(script(first.answer));
    await talk.event(isType("span.model_request_start"));
    await talk.say("do not lose me");
    first.letGo();
    const history = await talk.afterTurns(1);
    expect(typesOf(history)).toEqual([
      ...BEGINNING,
      ...REQUEST,
      "session.error",
      "user.message",
      ...ENDING,
    ]);
    await talk.say("again");
    await talk.afterTurns(2);
    const asked = world().model.requests.findLast(({ lastUserText }) =>
      lastUserText.includes("again"),
    );
    expect(asked?.lastUserText).toContain("do not lose me");
  });

  test.each([
    ["is cut off", { type: "cut", afterEvents: 5 }],
    ["ends too early", { type: "end", afterEvents: 5 }],
    ["says an error in the middle", { ...errorEvent(), afterEvents: 5 }],
    ["speaks garbage", { type: "garbage", afterEvents: 5 }],
  ] as const)(
    "that %s is asked again, and nothing of the half answer is kept",
    async (_, fault) => {
      const talk = await Conversation.open(world());
      const listening = await talk.listen(["agent.message"]);
      const words = "words that are long enough for several deltas of the stream";
      await talk.say(script(failing({ ...fault, times: 1 }, words)));
      const history = await talk.afterTurns(1);
      await listening.event(({ type }) => type === "session.status_idle");
      expect(typesOf(history)).toEqual([
        ...BEGINNING,
        ...BACK_OFF,
        ...RUNNING,
        ...ANSWERED,
        ...ENDING,
      ]);
      expect(messagesOf(history)).toEqual([words]);
      const previews = listening.events.filter((event) => event.type === "event_start");
      const [half, whole] = previews.map(({ event }) => event.id);
      expect(history.find(isType("agent.message"))?.id).toBe(whole);
      expect(half).not.toBe(whole);
      await listening.close();
    },
  );

  test("whose proxy shows the request's headers tells nobody of the key", async () => {
    const talk = await Conversation.open(world());
    const { apiKey } = world().model;
    const body = `<html><pre>Authorization: Bearer ${apiKey}\nX-Api-Key: ${encodeURIComponent(apiKey)}\n${Buffer.from(`u:${apiKey}`).toString("base64")}</pre> Bad Gateway</html>`;
    await talk.say(script(failing({ type: "status", status: 502, body, times: 1 }), answer("ok")));
    const history = await talk.afterTurns(1);
    const [error] = history.filter(isType("session.error"));
    expect(error?.error.message).toContain("Bad Gateway");
    const told = history.filter((event) => event.type !== "user.message");
    const shown = JSON.stringify(told) + world().log;
    for (const secret of [apiKey, apiKey.slice(0, 8), Buffer.from(apiKey).toString("base64")]) {
      expect(shown).not.toContain(secret);
    }
  });

  test("that breaks off after a tool call never has that call run", async () => {
    const talk = await Conversation.open(world());
    const call = toolCall("bash", { command: "echo once >> times; cat times" });
    await talk.say(script(failing({ type: "cut", afterEvents: 4, times: 1 }, call), answer("ok")));
    expect(resultsOf(await talk.afterTurns(1))).toEqual([{ text: "once", isError: false }]);
  });
});

test("a model whose answer stops coming is cut off and asked again", async () => {
  // Of its own: where nothing has to be as fast as that.
  const world = await newWorld({ ...QUICK, DROVER_MODEL_SILENCE_MS: "3000" });
  await world.start();
  const talk = await Conversation.open(world);
  const stall = { type: "stall", afterEvents: 3, times: 1 } as const;
  await talk.say(script(failing(stall, "at last")));
  const history = await talk.afterTurns(1);
  expect(errorsOf(history)).toEqual([["model_request_failed_error", "retrying"]]);
  expect(messagesOf(history)).toEqual(["at last"]);
});

function errorEvent() {
  return { type: "error_event", error_type: "overloaded_error" } as const;
}

function errorsOf(history: readonly SessionEvent[]): [string, string][] {
  return history
    .filter(isType("session.error"))
    .map(({ error }) => [error.type, error.retry_status.type]);
}

function stopReasonOf(history: readonly SessionEvent[]): string | undefined {
  return history.findLast(isType("session.status_idle"))?.stop_reason.type;
}
