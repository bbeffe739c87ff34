import {
  answer,
  type JsonObject,
  type MessagesRequest,
  type Script,
  text,
  thinking,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import { DEFAULT_POLICIES } from "../core/harness/policies.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import { toWire } from "../core/session/wire.ts";
import type { LookBack } from "../core/tools/session-events.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";

const always = { ...DEFAULT_POLICIES, lookBack: "always" as const };

/** Calls `session_events` with the input that the user's message is, and says what it got. */
const ASKER: Script = (request) => {
  const [result] = toolResultsOf(request).values();
  if (result !== undefined) return answer(text("I see."));
  return request.lastUserText.startsWith("{")
    ? answer(
        thinking("I had better look."),
        toolCall("session_events", JSON.parse(request.lastUserText) as JsonObject),
      )
    : answer(text("Noted."));
};

async function say(brain: BrainWorld, key: SessionKey, value: string) {
  await brain.send(key, value);
  await brain.run();
}

/** Asks for events and gives the text of the result. */
async function lookUp(brain: BrainWorld, key: SessionKey, input: object): Promise<string> {
  await say(brain, key, JSON.stringify(input));
  const result = (await brain.log(key)).findLast(({ type }) => type === "agent.tool_result");
  if (result?.type !== "agent.tool_result") throw new Error("there is no result");
  return (result.public.content ?? []).map((block) => ("text" in block ? block.text : "")).join("");
}

const eventsIn = (result: string) =>
  result
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { seq: number; type: string; id: string });
const toolsOf = (request: MessagesRequest | undefined) =>
  ((request?.body["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

describe("session_events", () => {
  test("gives the events as they are shown, with their positions, and leaves no other mark", async () => {
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, policies: always });
    const key = await brain.newSession();
    await say(brain, key, "The code word is KIWI.");
    const found = eventsIn(await lookUp(brain, key, {}));
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(found.map(({ type }) => type)).toEqual([
      "user.message",
      "agent.message",
      "user.message",
    ]);
    for (const { seq, ...shown } of found) {
      const event = log.find((each) => each.seq === seq);
      expect(event && toWire(event)).toEqual(shown);
    }
    const use = log.find(({ type }) => type === "agent.tool_use");
    expect(use?.public).toEqual({
      name: "session_events",
      input: {},
      evaluated_permission: "allow",
      evaluation: { type: "always_allow" },
    });
    expect(log.some(({ type }) => type === "drover.call_started")).toBe(false);
    expect(brain.hands.executions).toEqual([]);
  });

  test("finds by position, by type and by words in capital or small letters", async () => {
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, policies: always });
    const key = await brain.newSession();
    for (const word of ["one", "two", "Three", "four"]) await say(brain, key, `Say ${word}.`);
    const log = await brain.log(key);
    const said = log.filter(({ type }) => type === "user.message").map(({ seq }) => seq);
    const seqs = async (input: object) =>
      eventsIn(await lookUp(brain, key, { types: ["user.message"], ...input }))
        .map(({ seq }) => seq)
        .filter((seq) => seq <= log.length);
    expect(await seqs({ after: said[1] })).toEqual(said.slice(2));
    expect(await seqs({ before: said[2] })).toEqual(said.slice(0, 2));
    expect(await seqs({ after: said[0], before: said[3] })).toEqual(said.slice(1, 3));
    expect(await seqs({ query: "say THREE" })).toEqual([said[2]]);
    expect(await seqs({ before: said[3], limit: 1 })).toEqual([said[2]]);
    expect(await seqs({ after: 0, limit: 1 })).toEqual([said[0]]);
    expect(await seqs({ query: "five" })).toEqual([]);
    expect(eventsIn(await lookUp(brain, key, { types: [], limit: 3 }))).toHaveLength(3);
    const spans = await lookUp(brain, key, { types: ["span.model_request_start"], limit: 200 });
    expect(eventsIn(spans).length).toBeGreaterThan(4);
  });

  test("tells how to go on where there is more, until there is none", async () => {
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, policies: always });
    const key = await brain.newSession();
    for (let turn = 0; turn < 6; turn++) await say(brain, key, `Message ${turn}.`);
    const all = (await brain.log(key)).filter(({ type }) => type === "user.message");
    const until = all.at(-1)?.seq ?? 0;
    const seen: number[] = [];
    let after = 0;
    for (let page = 0; page < 10; page++) {
      const input = { after, before: until + 1, types: ["user.message"], limit: 2 };
      const result = await lookUp(brain, key, input);
      seen.push(...eventsIn(result).map(({ seq }) => seq));
      const more = /go on with "after": (\d+)/.exec(result)?.[1];
      if (more === undefined) break;
      after = Number(more);
    }
    expect(seen).toEqual(all.map(({ seq }) => seq));
  });

  test("shows no thinking, nothing of its own, and long texts around what was looked for", async () => {
    const long = `${"a ".repeat(20_000)}the NEEDLE ${"b ".repeat(20_000)}`;
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, policies: always });
    const key = await brain.newSession();
    await say(brain, key, long);
    await lookUp(brain, key, {});
    const types = ["agent.thinking", "agent.tool_use", "agent.tool_result"];
    expect(eventsIn(await lookUp(brain, key, { types }))).toEqual([]);
    const result = await lookUp(brain, key, { query: "needle", limit: 1, before: 10 });
    expect(result).toContain("the NEEDLE b");
    expect(result.length).toBeLessThan(6_000);
  });

  test("a result is never longer than 60,000 characters, however much is asked for", async () => {
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, policies: always });
    const key = await brain.newSession();
    for (let turn = 0; turn < 20; turn++) await say(brain, key, `${turn} ${"long ".repeat(2_000)}`);
    const result = await lookUp(brain, key, { limit: 200 });
    expect(result.length).toBeLessThan(61_000);
    expect(result.length).toBeGreaterThan(50_000);
    expect(result).toMatch(/There is more: go on with "before": \d+\.$/);
  });

  test.each([
    [{ limit: 201 }, "limit: must be a whole number from 1 to 200"],
    [{ limit: 0 }, "limit: must be a whole number from 1 to 200"],
    [{ after: -1 }, "after: must not be negative"],
    [{ before: 1.5 }, "before: must be a whole number"],
    [{ types: "user.message" }, "types: must be a list of event types"],
    [
      { types: ["drover.call_started"] },
      "types: there are no events of the type drover.call_started",
    ],
    [{ query: 5 }, "query: must be a text"],
  ])("%j is refused with a sentence that names the field", async (input, problem) => {
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, policies: always });
    const key = await brain.newSession();
    expect(await lookUp(brain, key, input)).toBe(problem);
    const log = await brain.log(key);
    expect(log.find(({ type }) => type === "agent.tool_result")?.public).toMatchObject({
      is_error: true,
    });
  });
});

describe("who is offered it", () => {
  const CHATTER: Script = (request) =>
    request.lastUserText.includes("Stop here.")
      ? answer(text("Nothing of note."))
      : answer(text("Word after word. ".repeat(40)));

  async function tools(lookBack: LookBack, offered?: readonly string[]) {
    await using brain = await createBrainWorld({
      script: CHATTER,
      tools: {},
      window: 4_000,
      policies: { ...DEFAULT_POLICIES, lookBack },
      ...(offered !== undefined && { offered }),
    });
    const key = await brain.newSession();
    for (let turn = 0; turn < 12; turn++) await say(brain, key, "Say something. ".repeat(30));
    expect(JSON.stringify(brain.api.requests)).toContain("Stop here.");
    const has = (request: MessagesRequest | undefined) =>
      request?.body["tools"] !== undefined && toolsOf(request).includes("session_events");
    const { requests } = brain.api;
    const summary = (await brain.log(key)).find(
      ({ type }) => type === "agent.thread_context_compacted",
    );
    return {
      before: has(requests[0]),
      after: has(requests.at(-1)),
      isTold: JSON.stringify(summary?.private).includes("session_events"),
      names: toolsOf(requests.at(-1)),
    };
  }

  test("once something was compacted, always, or never", async () => {
    expect(await tools("after_compaction")).toMatchObject({
      before: false,
      after: true,
      isTold: true,
    });
    expect(await tools("always")).toMatchObject({ before: true, after: true, isTold: true });
    expect(await tools("never")).toMatchObject({ before: false, after: false, isTold: false });
  });

  test("also an agent without tools, but not one that has a tool of this name itself", async () => {
    expect((await tools("after_compaction", [])).names).toEqual(["session_events"]);
    const own = await tools("always", ["session_events"]);
    expect(own.names).toEqual(["session_events"]);
    expect(own.isTold).toBe(false);
  });

  test("a call of it that is not offered is refused like that of any other tool", async () => {
    await using brain = await createBrainWorld({ script: ASKER, tools: {}, offered: ["read"] });
    const key = await brain.newSession();
    expect(await lookUp(brain, key, {})).toContain("not available to the agent");
  });
});
