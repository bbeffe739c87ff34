import {
  type Answer,
  answer,
  judgedCallOf,
  type MessagesRequest,
  type Script,
  text,
  toolCall,
  toolResultsOf,
} from "@drover/testing";
import { describe, expect, test } from "vitest";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import { answerAll } from "../testing/answers.ts";
import { type BrainWorld, createBrainWorld } from "../testing/brain.ts";
import { addEnvironment, forkEverywhere, throughFile } from "../testing/copies.ts";
import { recordedLogs } from "../testing/recorded-logs.ts";

/** Whatever a session was in the middle of, a fork of it waits for its user and goes on. */

const GO_ON: Script = (request) =>
  toolResultsOf(request).size > 0 ? answer(text("With results.")) : answer(text("Going on."));

describe.each(recordedLogs())("$file", ({ log }) => {
  test("can be forked at every event, and written to a file", async () => {
    const options = { script: GO_ON, tools: { "*": () => "done" }, firstId: 1_000_000 };
    await using brain = await createBrainWorld(options);
    const source = await brain.sessionWith(log);
    await addEnvironment(brain.store, source.workspaceId);
    await brain.run();
    await throughFile(brain, source);
    await forkEverywhere(brain, source);
  });
});

const isGoingOn = (request: MessagesRequest) => request.lastUserText.includes("Go on.");

/** Calls that ask, run and wait for the client, or are judged. */
const ASKING: Script = (request) => {
  const judged = judgedCallOf(request);
  if (judged !== undefined) {
    return answer(JSON.stringify({ verdict: String(judged.input["wants"]), reason: "Because." }));
  }
  if (toolResultsOf(request).size > 0 || isGoingOn(request)) return answer(text("All are done."));
  return answer(
    text("Many things."),
    toolCall("ask_write", { n: 1 }),
    toolCall("read", { n: 2 }),
    toolCall("client_weather", { n: 3 }),
    toolCall("ask_delete", { n: 4 }),
    toolCall("auto_bash", { wants: "allow" }),
    toolCall("auto_bash", { wants: "deny" }),
    toolCall("auto_bash", { wants: "ask" }),
  );
};

/** Talks at length, and sums up in a sentence. */
const TALKER: Script = (request) =>
  request.lastUserText.includes("Stop here.")
    ? answer(text("All of it was about numbers."))
    : answer(text(`About ${request.lastUserText.slice(0, 8)} ${"Word after word. ".repeat(40)}`));

/** Five cents for a thousand tokens of output, nothing for the rest. */
const PRICES: PriceList = {
  tokens: () => ({
    input: 0,
    output: 50_000_000,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
  }),
  hour: 0,
  search: 0,
};
const COSTLY: Script = (request) => {
  const said: Answer =
    toolResultsOf(request).size > 0 ? answer(text("Done.")) : answer(toolCall("read", {}));
  return { ...said, usage: { output_tokens: 1_000 } };
};

async function say(brain: BrainWorld, key: SessionKey, value: string): Promise<void> {
  await brain.send(key, value);
  await brain.run();
}

async function isCompacted(brain: BrainWorld, key: SessionKey): Promise<boolean> {
  const log = await brain.log(key);
  return log.some(({ type }) => type === "agent.thread_context_compacted");
}

describe("a session", () => {
  test("that asks, waits for its client and is judged", async () => {
    await using brain = await createBrainWorld({
      script: ASKING,
      offered: ["ask_write", "ask_delete", "auto_bash", "read", "client_weather"],
      tools: { "*": ({ name }) => `${name} ran` },
    });
    await addEnvironment(brain.store, "wrkspc_1");
    const key = await brain.newSession();
    await say(brain, key, "Go.");
    await forkEverywhere(brain, key);
    await answerAll(brain, key);
    await brain.run();
    const types = new Set((await brain.log(key)).map(({ type }) => type));
    for (const type of ["user.tool_confirmation", "user.custom_tool_result"] as const) {
      expect(types).toContain(type);
    }
    expect(types).toContain("drover.calls_judged");
    await throughFile(brain, key);
    await forkEverywhere(brain, key);
  });

  test("whose older part was summed up", async () => {
    await using brain = await createBrainWorld({ script: TALKER, tools: {}, window: 4_000 });
    await addEnvironment(brain.store, "wrkspc_1");
    const key = await brain.newSession();
    for (let turn = 1; !(await isCompacted(brain, key)); turn++) {
      await say(brain, key, `Turn ${turn}. ${"Say something. ".repeat(30)}`);
    }
    await say(brain, key, "And one more.");
    await throughFile(brain, key);
    await forkEverywhere(brain, key);
  });

  test("that is held at its budget", async () => {
    await using brain = await createBrainWorld({
      script: COSTLY,
      tools: { read: () => "content" },
      prices: PRICES,
    });
    await addEnvironment(brain.store, "wrkspc_1");
    const key = await brain.newSession({
      type: "limit",
      max_list_cost: { amount: "5", currency: "USD" },
    });
    await say(brain, key, "Go.");
    const last = (await brain.log(key)).at(-1);
    expect(last?.public).toMatchObject({ stop_reason: { type: "budget_reached" } });
    await throughFile(brain, key);
    await forkEverywhere(brain, key);
  });
});
