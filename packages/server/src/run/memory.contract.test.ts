import {
  answer,
  type MessagesRequest,
  type Script,
  text,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { expect, test } from "vitest";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules } from "../testing/log-rules.ts";

const WINDOW = 4_000;
const COMPACTIONS = 30;
const FACTS = { harbour: "LANTERN-41", mountain: "OSPREY-17", valley: "THIMBLE-93" };
const PLACES = Object.keys(FACTS);

const isSummary = (request: MessagesRequest) => request.lastUserText.includes("Stop here.");
/** All that the model was sent, as one text. It answers from nothing else. */
const sentTo = (request: MessagesRequest) => JSON.stringify(request.body["messages"]);
const codeOf = (place: string, known: string) =>
  new RegExp(`code of the ${place} is ([A-Z]+-\\d+)`).exec(known)?.[1];
const asked = (request: MessagesRequest) =>
  /code of the (\w+)\?/.exec(request.lastUserText.split("\n").at(-1) ?? "")?.[1];

/** A model that sums up what codes it was told, and answers questions about them from what it reads. */
const CARRIER: Script = (request) => {
  if (isSummary(request)) {
    const codes = PLACES.map((place) => [place, codeOf(place, sentTo(request))] as const)
      .filter(([, code]) => code !== undefined)
      .map(([place, code]) => `The code of the ${place} is ${code}.`);
    return answer(text(`Chatter, and these: ${codes.join(" ")}`));
  }
  const place = asked(request);
  if (place === undefined) return answer(text("Word after word. ".repeat(40)));
  return answer(text(codeOf(place, sentTo(request)) ?? "I do not know."));
};

/** A model that forgets everything when it sums up, and looks back when it is asked. */
const FORGETTER: Script = (request) => {
  if (isSummary(request)) return answer(text("There was some talk."));
  const place = asked(request);
  const [result] = toolResultsOf(request).values();
  if (result !== undefined) {
    const question = PLACES.findLast((each) => JSON.stringify(result).includes(`the ${each}`));
    return answer(text(codeOf(question ?? "", JSON.stringify(result)) ?? "I do not know."));
  }
  if (place === undefined) return answer(text("Word after word. ".repeat(40)));
  return answer(toolCall("session_events", { query: `code of the ${place} is`, limit: 5 }));
};

async function say(brain: BrainWorld, key: SessionKey, value: string) {
  await brain.send(key, value);
  await brain.run();
}

const compactions = (log: readonly LogEvent[]) =>
  log.filter(({ type }) => type === "agent.thread_context_compacted").length;

async function afterManyCompactions(script: Script) {
  await using brain = await createBrainWorld({ script, tools: {}, window: WINDOW });
  const key = await brain.newSession();
  for (const [place, code] of Object.entries(FACTS)) {
    await say(brain, key, `Remember: the code of the ${place} is ${code}.`);
  }
  const summaries = () => brain.api.requests.filter(isSummary).length;
  for (let turn = 0; summaries() < COMPACTIONS; turn++) {
    expect(turn).toBeLessThan(400);
    await say(brain, key, `Turn ${turn}. ${"Say something. ".repeat(30)}`);
  }
  const answers: unknown[] = [];
  for (const place of PLACES) {
    await say(brain, key, `What is the code of the ${place}?`);
    const said = (await brain.log(key)).findLast(({ type }) => type === "agent.message");
    answers.push(said?.type === "agent.message" ? said.public.content : undefined);
  }
  const log = await brain.log(key);
  expect(brokenLogRules(log)).toEqual([]);
  expect(compactions(log)).toBeGreaterThanOrEqual(COMPACTIONS);
  expect(log.some(({ type }) => type === "session.error")).toBe(false);
  return { answers, log };
}

const RIGHT = Object.values(FACTS).map((code) => [{ type: "text", text: code }]);

test("after 30 compactions three questions about the first rounds are answered from the summary", async () => {
  const { answers, log } = await afterManyCompactions(CARRIER);
  expect(answers).toEqual(RIGHT);
  expect(log.some(({ type }) => type === "agent.tool_use")).toBe(false);
});

test("and, where the summary has lost the answers, by looking back", async () => {
  const { answers, log } = await afterManyCompactions(FORGETTER);
  expect(answers).toEqual(RIGHT);
  expect(log.filter(({ type }) => type === "agent.tool_use")).toHaveLength(3);
});
