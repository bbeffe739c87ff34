import { answer, type Script, text, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { contextMessages } from "../core/harness/context.ts";
import { fold, foldDraft } from "../core/session/fold.ts";
import { NEW_SESSION, type SessionState } from "../core/session/state.ts";
import { answerAll } from "../testing/answers.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";
import { recordedLogs } from "../testing/recorded-logs.ts";

const LOGS = recordedLogs();

const GO_ON: Script = (request) =>
  toolResultsOf(request).size > 0 ? answer(text("With results.")) : answer(text("Going on."));

test("there are recorded logs", () => {
  expect(LOGS.length).toBeGreaterThanOrEqual(10);
});

describe.each(LOGS)("$file", ({ log }) => {
  test("every prefix is a session that goes on, comes to rest and takes the next message", async () => {
    await using brain = await createBrainWorld({
      script: GO_ON,
      tools: { "*": () => "done" },
      firstId: 1_000_000,
    });
    for (let length = 1; length <= log.length; length++) {
      const key = await brain.sessionWith(log.slice(0, length));
      await brain.run();
      // A log that was cut off in the middle of waiting waits, and goes on with its answers.
      await answerAll(brain, key);
      await brain.run();
      await brain.send(key, "Go on.");
      await brain.run();
      const continued = await brain.log(key);
      expect(continued.slice(0, length).map(({ id }) => id)).toEqual(
        log.slice(0, length).map(({ id }) => id),
      );
      expect(brokenLogRules(continued), `after ${length} events`).toEqual([]);
      expect(continued.at(-1)?.public).toMatchObject({ stop_reason: { type: "end_turn" } });
    }
  });

  test("drafts fold to the same state as the events they become, but for times", () => {
    const drafted = log.reduce<SessionState>(
      (state, event) => ({
        ...foldDraft(state, event, event.processed_at, event.seq),
        seq: event.seq,
      }),
      NEW_SESSION,
    );
    expect(drafted).toEqual(fold(log));
  });

  test("signed blocks go back as they came", () => {
    const signed = log.flatMap((event) =>
      event.type === "agent.thinking" ? event.private.blocks.map(({ block }) => block) : [],
    );
    const sent = contextMessages(log).flatMap(({ content }) => content);
    const kept = sent.filter(({ type }) => type === "thinking");
    expect(JSON.stringify(kept)).toBe(JSON.stringify(signed));
  });
});
