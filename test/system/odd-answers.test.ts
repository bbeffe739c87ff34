import { type Answer, answer, text, thinking, toolCall, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import {
  Conversation,
  isType,
  messagesOf,
  resultsOf,
  type SessionEvent,
  typesOf,
} from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { useWorld } from "./support/world.ts";

// Whatever the model answers, the turn ends, and the next request is one that the API takes: the
// strict double refuses any other, and the file fails on a refusal.
const world = useWorld();

describe.concurrent("an answer", () => {
  test.each<[string, Answer]>([
    ["of nothing", { content: [] }],
    ["of blank text", answer(text(" \n\t"))],
    ["of thinking alone", answer(thinking("hm"))],
    ["that was cut at its limit", { ...answer("half of a sen"), stop_reason: "max_tokens" }],
    ["with a stop reason of the future", { ...answer("all"), stop_reason: "moon_phase" }],
    ["without a stop reason", { ...answer("all"), stop_reason: null }],
    ["with redacted thinking", { content: [{ type: "redacted_thinking" }, text("all")] }],
    ["of odd characters", answer(text("\u0001 \u2028 \ufeff 👩‍👩‍👧 \u202e"))],
    ["of 200,000 characters", { ...answer("x".repeat(2e5)), pacing: { chunkChars: 20_000 } }],
  ])("%s ends its turn, and the next works", async (_, odd) => {
    const talk = await Conversation.open(world());
    await talk.say(script(odd));
    const history = await talk.afterTurns(1);
    expect(history.at(-1)?.type).toBe("session.status_idle");
    await expectNextTurnWorks(talk);
  });

  test("of nothing is asked for once more", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script({ content: [] }, answer("done")));
    const history = await talk.afterTurns(1);
    expect(messagesOf(history)).toEqual(["done"]);
    expect(history.filter(isType("session.error"))).toEqual([]);
    expect(history.at(-1)).toMatchObject({ stop_reason: { type: "end_turn" } });
  });

  test("of nothing twice ends the turn visibly", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script({ content: [] }, { content: [] }));
    const history = await talk.afterTurns(1);
    expect(history.filter(isType("session.error"))).toMatchObject([
      { error: { type: "model_request_failed_error", retry_status: { type: "exhausted" } } },
    ]);
    expect(history.at(-1)).toMatchObject({ stop_reason: { type: "retries_exhausted" } });
    await expectNextTurnWorks(talk);
  });

  test("that pauses its turn is asked to go on", async () => {
    const talk = await Conversation.open(world());
    await talk.say(script({ ...answer("wait"), stop_reason: "pause_turn" }, answer("done")));
    const history = await talk.afterTurns(1);
    expect(messagesOf(history)).toEqual(["wait", "done"]);
    await expectNextTurnWorks(talk);
  });

  test.each([
    ["before a word", []],
    ["after some words", ["I was about to"]],
  ])("that refuses %s, without a category, is a refusal as well", async (_, words) => {
    const talk = await Conversation.open(world());
    const stop_details = { type: "refusal", category: null, explanation: null };
    await talk.say(script({ ...answer(...words), stop_reason: "refusal", stop_details }));
    const history = await talk.afterTurns(1);
    expect(messagesOf(history)).toEqual(words);
    expect(history.at(-1)).toMatchObject({ stop_reason: { type: "refusal" }, stop_details });
    await expectNextTurnWorks(talk);
  });

  test("that refuses ends the turn as a refusal, with the model's own reason", async () => {
    const talk = await Conversation.open(world());
    const stop_details = { type: "refusal", category: "cyber", explanation: "no" };
    await talk.say(script({ ...answer("I will not"), stop_reason: "refusal", stop_details }));
    const history = await talk.afterTurns(1);
    expect(history.findLast(isType("session.status_idle"))).toMatchObject({
      stop_reason: { type: "refusal" },
      stop_details,
    });
    await expectNextTurnWorks(talk);
  });

  test("that refuses in the middle of a tool call never has it run", async () => {
    const talk = await Conversation.open(world());
    const call = toolCall("bash", { command: "echo ran > ran" });
    await talk.say(script({ ...answer("no", call), stop_reason: "refusal" }));
    expect(typesOf(await talk.afterTurns(1))).not.toContain("agent.tool_result");
    await talk.say(script(answer(toolCall("bash", { command: "ls" })), answer("done")));
    expect(resultsOf(await talk.afterTurns(2))).toEqual([{ text: "(no output)", isError: false }]);
  });
});

describe.concurrent("an agent without tools", () => {
  test("that calls one all the same is refused, and can be spoken to after that", async () => {
    const talk = await Conversation.open(world(), { tools: [] });
    await talk.say(script(answer(toolCall("hammer", { nail: 1 })), answer("done")));
    const history = await talk.afterTurns(1);
    expectAnswered(history);
    expect(messagesOf(history)).toEqual(["done"]);
    await expectNextTurnWorks(talk);
  });

  test("any more, whose tools were taken away, can still be spoken to", async () => {
    const talk = await Conversation.open(world());
    const call = answer(toolCall("bash", { command: "echo once" }));
    await talk.say(script(call, answer("done")));
    await talk.afterTurns(1);
    await world().client.beta.sessions.update(talk.id, { agent: { tools: [] } });
    await talk.say(script(call, answer("done")));
    const history = await talk.afterTurns(2);
    expect(resultsOf(history)).toEqual([
      { text: "once", isError: false },
      { text: expect.stringContaining("not available"), isError: true },
    ]);
    expect(messagesOf(history)).toEqual(["done", "done"]);
  });
});

describe.concurrent("a tool call", () => {
  test.each<[string, ReturnType<typeof toolCall>, RegExp]>([
    ["of a tool that does not exist", toolCall("hammer", { nail: 1 }), /not available/],
    ["with input of the wrong type", toolCall("bash", { command: 7 }), /command/],
    ["without its input", toolCall("read", {}), /file_path/],
    [
      "that names no file",
      toolCall("read", { file_path: "/nowhere/at/all" }),
      /no such|not found|does not exist/i,
    ],
    ["whose path leaves by `..`", toolCall("read", { file_path: "/../../../etc/shadow" }), /./],
    ["with a NUL byte", toolCall("bash", { command: "echo a\0b" }), /NUL|null byte|\\0/i],
    ["of a tool named by a whole page", toolCall("n".repeat(5_000), {}), /not available/],
    ["of a tool without a name", toolCall("", {}), /not available/],
    ["of a tool named like the prototype", toolCall("__proto__", {}), /not available/],
  ])("%s is answered, and the turn ends", async (_, call, message) => {
    const talk = await Conversation.open(world());
    await talk.say(script(answer(call), answer("done")));
    const history = await talk.afterTurns(1);
    for (const { text: said } of resultsOf(history)) expect(said).toMatch(message);
    expectAnswered(history);
    await expectNextTurnWorks(talk);
  });

  test("that was cut at the token limit is left out, and its turn goes on", async () => {
    const talk = await Conversation.open(world());
    const call = { ...toolCall("bash"), inputJson: '{"command": "echo ra' };
    await talk.say(script({ ...answer("I try", call), stop_reason: "max_tokens" }, answer("done")));
    const history = await talk.afterTurns(1);
    expectAnswered(history);
    expect(typesOf(history)).not.toContain("agent.tool_use");
    expect(messagesOf(history)).toEqual(["I try", "done"]);
    await expectNextTurnWorks(talk);
  });

  test.each(['{"command": "echo', "[]", "echo once", '"{}"'])(
    "whose input is %s is answered, and its turn goes on",
    async (inputJson) => {
      const talk = await Conversation.open(world());
      const calls = [{ ...toolCall("bash"), inputJson }, toolCall("bash", { command: "echo two" })];
      await talk.say(script(answer(...calls), answer("done")));
      const history = await talk.afterTurns(1);
      expectAnswered(history);
      expect(resultsOf(history).map(({ isError }) => isError)).toEqual([true, false]);
      expect(resultsOf(history)[0]?.text).toContain("not a JSON object");
      expect(history.find(isType("agent.tool_use"))).toMatchObject({
        name: "bash",
        input: {},
        evaluated_permission: "deny",
      });
      expect(messagesOf(history)).toEqual(["done"]);
    },
  );

  test("with an id that was there before is answered on its own", async () => {
    const talk = await Conversation.open(world());
    const call = (word: string) => ({
      ...toolCall("bash", { command: `echo ${word}` }),
      id: "toolu_1",
    });
    await talk.say(script(answer(call("one"), call("two")), answer(call("three")), answer("done")));
    const history = await talk.afterTurns(1);
    expect(resultsOf(history).map(({ text: said }) => said)).toEqual(["one", "two", "three"]);
    expectAnswered(history);
  });

  test("among fifty at once is answered at its place, whichever ends first", async () => {
    const talk = await Conversation.open(world());
    const numbers = Array.from({ length: 50 }, (_, index) => index);
    const calls = numbers.map((n) =>
      n % 2 === 0
        ? toolCall("bash", { command: `echo bash ${n} >> order; echo ${n}` })
        : toolCall("write", { file_path: `file-${n}`, content: `${n}` }),
    );
    await talk.say(
      script(answer(...calls), answer(toolCall("bash", { command: "cat order" })), answer("done")),
    );
    const history = await talk.afterTurns(1);
    expectAnswered(history);
    const even = numbers.filter((n) => n % 2 === 0);
    expect(resultsOf(history).at(-1)?.text).toBe(even.map((n) => `bash ${n}`).join("\n"));
    const asked = world().model.requests.filter((request) => toolResultsOf(request).size === 50);
    expect(asked).toHaveLength(1);
  });

  test("that prints what no text is comes back as text that the API takes", async () => {
    const talk = await Conversation.open(world());
    const commands = [
      "head -c 4000 /dev/urandom",
      "printf 'a\\0b\\377\\355\\240\\200c'",
      "head -c 3000000 /dev/zero",
      "yes | head -c 400000",
      "printf '   \\n'",
      "true",
      "echo to the error >&2; exit 3",
      "kill -9 $$",
      "printf '  \\n'; exit 3",
      "printf '\\037'; exit 3",
      "exit 0",
    ];
    await talk.say(
      script(...commands.map((command) => answer(toolCall("bash", { command }))), answer("done")),
    );
    const history = await talk.afterTurns(1);
    expectAnswered(history);
    const results = resultsOf(history);
    expect(results.map(({ isError }) => isError)).toEqual([
      ...Array.from({ length: 6 }, () => false),
      ...Array.from({ length: 4 }, () => true),
      expect.any(Boolean),
    ]);
    for (const { text: said } of results) {
      expect(said.length).toBeLessThan(120_000);
      expect(said).not.toContain("\0");
    }
    expect(messagesOf(history)).toEqual(["done"]);
    await expectNextTurnWorks(talk);
  });
});

/** Every call has exactly one result. */
function expectAnswered(history: readonly SessionEvent[]): void {
  const uses = history.filter(isType("agent.tool_use")).map(({ id }) => id);
  const answered = history.filter(isType("agent.tool_result")).map((event) => event.tool_use_id);
  expect(answered.toSorted()).toEqual(uses.toSorted());
  expect(history.at(-1)?.type).toBe("session.status_idle");
}

async function expectNextTurnWorks(talk: Conversation): Promise<void> {
  await talk.say("are you there?");
  const history = await talk.afterTurns(2);
  expect(messagesOf(history).at(-1)).toBe("You said: are you there?");
  expect(history.findLast(isType("session.status_idle"))?.stop_reason.type).toBe("end_turn");
}
