import { answer, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import { Conversation, isType, messagesOf, resultsOf, typesOf } from "./support/conversation.ts";
import {
  handsPid,
  isAlive,
  longSleep,
  OPEN_WORKSPACES,
  processesWith,
  sandboxPids,
  workspaceFile,
} from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld(OPEN_WORKSPACES);

/** Writes to the workspace for as long as anything of the call lives, and has begun to when it is over. */
const ticking = (file: string) =>
  `(while :; do echo tick >> ${file}; sleep 0.02; done) & until [ -e ${file} ]; do :; done`;
/** Says whether somebody still writes there, and lets nobody wait for the answer. */
const isQuiet = (file: string) =>
  `before=$(wc -l < ${file}); sleep 0.5; [ $before = $(wc -l < ${file}) ] && echo quiet; cat kept`;

test("talk alone makes no hands and no sandbox; the first tool call makes both", async () => {
  const talk = await Conversation.open(world());
  await talk.say("hello");
  expect(messagesOf(await talk.afterTurns(1))).toEqual(["You said: hello"]);
  expect([handsPid(world()), sandboxPids(world())]).toEqual([undefined, []]);
  await talk.say(script(answer(toolCall("bash", { command: "echo hi" })), answer("done")));
  expect(resultsOf(await talk.afterTurns(2))).toEqual([
    { text: expect.stringContaining("hi"), isError: false },
  ]);
  expect(handsPid(world())).toBeGreaterThan(1);
  expect(sandboxPids(world())).toHaveLength(1);
});

test("a sandbox that is killed is one tool error, and the next call works on the same files", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  const known = new Set(sandboxPids(world()));
  await talk.say(
    script(
      answer(
        toolCall("bash", { command: `echo kept > kept; ${ticking(marker)}; sleep ${marker}` }),
      ),
      answer(toolCall("bash", { command: isQuiet(marker) })),
      answer("went on"),
    ),
  );
  await until("the command", () => processesWith(marker)[0]);
  const victims = sandboxPids(world()).filter((pid) => !known.has(pid));
  expect(victims).toHaveLength(1);
  for (const pid of victims) process.kill(pid, "SIGKILL");
  const history = await talk.afterTurns(1);
  expect(resultsOf(history)).toEqual([
    { text: expect.stringContaining("The sandbox died while bash ran"), isError: true },
    { text: "quiet\nkept", isError: false },
  ]);
  expect(messagesOf(history)).toEqual(["went on"]);
  expect(processesWith(marker)).toEqual([]);
});

test("a sandbox that is killed between two calls is one tool error as well", async () => {
  const talk = await Conversation.open(world());
  const known = new Set(sandboxPids(world()));
  const set = answer(toolCall("bash", { command: "X=1; echo kept > kept" }));
  await talk.say(script(set, answer("set")));
  await talk.afterTurns(1);
  for (const pid of sandboxPids(world())) {
    if (known.has(pid)) continue;
    process.kill(pid, "SIGKILL");
    await until("its end", () => !isAlive(pid) || undefined);
  }
  const look = answer(toolCall("bash", { command: "cat kept; [ -z $X ] && echo X is gone" }));
  await talk.say(script(look, look, answer("seen")));
  const history = await talk.afterTurns(2);
  expect(resultsOf(history).slice(1)).toEqual([
    { text: expect.stringContaining("the sandbox has died since the last call"), isError: true },
    { text: "kept\nX is gone", isError: false },
  ]);
});

test("a command whose hands are killed is answered as unknown, and writes nothing after that", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  await talk.say(
    script(
      answer(
        toolCall("bash", { command: `echo kept > kept; ${ticking(marker)}; sleep ${marker}` }),
      ),
      answer(toolCall("bash", { command: isQuiet(marker) })),
      answer("went on"),
    ),
  );
  await until("the command", () => processesWith(marker)[0]);
  const before = handsPid(world()) ?? 0;
  process.kill(before, "SIGKILL");
  await talk.event(isType("agent.tool_result"));
  const ticks = workspaceFile(world(), marker);
  expect(ticks).toContain("tick");
  expect(processesWith(marker)).toEqual([]);
  const history = await talk.afterTurns(1);
  expect(resultsOf(history)).toEqual([
    { text: expect.stringMatching(/unknown.*not run again/s), isError: true },
    { text: "quiet\nkept", isError: false },
  ]);
  expect(workspaceFile(world(), marker)).toBe(ticks);
  expect(handsPid(world())).not.toBe(before);
  expect(typesOf(history).filter((type) => type === "session.error")).toEqual([]);
});

test("hands and server killed together are the same: unknown, then on with the same files", async () => {
  const talk = await Conversation.open(world());
  const marker = longSleep();
  await talk.say(
    script(
      answer(
        toolCall("bash", { command: `echo kept > kept; ${ticking(marker)}; sleep ${marker}` }),
      ),
      answer(toolCall("bash", { command: isQuiet(marker) })),
      answer("went on"),
    ),
  );
  await until("the command", () => processesWith(marker)[0]);
  const hands = handsPid(world()) ?? 0;
  await world().kill();
  process.kill(hands, "SIGKILL");
  await world().start();
  const history = await talk.afterTurns(1);
  expect(resultsOf(history)).toEqual([
    { text: expect.stringMatching(/unknown.*not run again/s), isError: true },
    { text: "quiet\nkept", isError: false },
  ]);
  expect(messagesOf(history)).toEqual(["went on"]);
});
