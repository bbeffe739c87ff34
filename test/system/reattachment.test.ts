import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, isType, messagesOf, resultsOf, typesOf } from "./support/conversation.ts";
import {
  longSleep,
  OPEN_WORKSPACES,
  processesWith,
  workspaceFile,
  workspaceWith,
} from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld(OPEN_WORKSPACES);

const LINES = 40;
/** Work that leaves a trace of each step, and of the process that did it, and is not over before `go` is there. */
const PACED = `for i in $(seq ${LINES}); do echo "line $i of $$"; echo $i >> steps; sleep 0.25; done; until [ -e go ]; do sleep 0.1; done`;

test("a command outlives the server that sent it, and its shell and the stream know no gap", async () => {
  const talk = await Conversation.open(world());
  await talk.say(
    script(
      answer(toolCall("bash", { command: "mkdir deep && cd deep && NAME=drover && echo $$" })),
      answer(toolCall("bash", { command: PACED })),
      answer(toolCall("bash", { command: "echo $NAME $$ $PWD" })),
      answer("finished"),
    ),
  );
  const workspace = await until("its workspace", () => workspaceWith(world(), "deep/steps"));
  const steps = () => (workspaceFile(world(), "deep/steps") ?? "").trim().split("\n").length;
  await until("a second of the command", () => steps() >= 4 || undefined);
  await world().kill();
  const stepsThen = steps();
  expect(stepsThen).toBeLessThan(LINES);
  await until("progress without a server", () => steps() >= stepsThen + 2 || undefined);
  await world().start();
  const listening = await talk.listen();
  const before = await talk.history();
  expect(resultsOf(before)).toHaveLength(1);
  writeFileSync(join(workspace, "deep/go"), "");
  const history = await talk.afterTurns(1);
  await listening.event((event) => event.type === "session.status_idle");

  const [shell = "", ...results] = resultsOf(history).map(({ text }) => text.trim());
  const lines = Array.from({ length: LINES }, (_, index) => `line ${index + 1} of ${shell}`);
  expect(results).toEqual([lines.join("\n"), `drover ${shell} /workspace/deep`]);
  expect(messagesOf(history)).toEqual(["finished"]);
  expect(steps()).toBe(LINES);
  const known = new Set(before.map(({ id }) => id));
  const streamed = listening.events.filter((event) => "id" in event && !known.has(event.id));
  expect([...before, ...streamed]).toEqual(history);
  await listening.close();
});

test("a command that was taken over can be interrupted", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  await talk.say(script(answer(toolCall("bash", { command: `echo begun; sleep ${marker}` }))));
  await until("the command", () => processesWith(marker)[0]);
  await world().restart();
  await talk.interrupt();
  const history = await talk.afterTurns(1);
  expect(typesOf(history).slice(-5)).toEqual([
    "agent.tool_result",
    "user.interrupt",
    "session.thread_status_idle",
    "session.usage",
    "session.status_idle",
  ]);
  expect(resultsOf(history)).toEqual([
    { text: expect.stringContaining("Tool execution was interrupted"), isError: true },
  ]);
  expect(history.find(isType("session.status_idle"))).toMatchObject({
    stop_reason: { type: "end_turn" },
    stop_details: null,
  });
  expect(processesWith(marker)).toEqual([]);
});

test("a command's own time-out fires while no server is alive", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  const command = `echo begun; sleep ${marker}`;
  await talk.say(
    script(answer(toolCall("bash", { command, timeout_ms: 1_500 })), answer("it timed out")),
  );
  await until("the command", () => processesWith(marker)[0]);
  await world().kill();
  await until("its end", () => processesWith(marker).length === 0 || undefined);
  await world().start();
  const history = await talk.afterTurns(1);
  expect(resultsOf(history)).toEqual([
    { text: expect.stringMatching(/^begun\n[\s\S]*timed out after 1500 ms/), isError: true },
  ]);
  expect(messagesOf(history)).toEqual(["it timed out"]);
});

test("a model request that died with its server is closed and asked again", async () => {
  const talk = await Conversation.open(world());
  await talk.say(script({ ...answer("a slow answer"), pacing: { firstMs: 1_000 } }));
  await until("the request", () => world().model.active || undefined);
  await world().restart();
  const history = await talk.afterTurns(1);
  expect(typesOf(history)).toEqual([
    "session.status_running",
    "session.thread_status_running",
    "user.message",
    "span.model_request_start",
    "span.model_request_end",
    "span.model_request_start",
    "agent.message",
    "span.model_request_end",
    "session.thread_status_idle",
    "session.usage",
    "session.status_idle",
  ]);
  const ends = history.filter(isType("span.model_request_end"));
  expect(ends.map(({ is_error }) => is_error)).toEqual([true, false]);
});
