import { answer, type MessagesRequest, text, toolCall, toolResultsOf } from "@drover/testing";
import { describe, expect, test } from "vitest";
import { NO_PRICES } from "../core/pricing/price-list.ts";
import { fold } from "../core/session/fold.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { offeredTools } from "../core/tools/offered-tools.ts";
import { createBrainWorld } from "../testing/brain.ts";
import { brokenLogRules, comparableLog } from "../testing/log-rules.ts";

const allow = { enabled: true, permission_policy: { type: "always_allow" } };
const SEARCH_PRICE = 10_000_000_000;
const FOUND = "https://found.example/page";

/** The agent's tools, of which `web_fetch` takes URLs from where the settings say. */
function toolset(url_sources: object | null) {
  const fetching = {
    ...allow,
    name: "web_fetch",
    type: "web_fetch",
    blocked_domains: ["b.example"],
  };
  const configs = [{ ...fetching, url_sources }];
  return [{ type: "agent_toolset_20260401", default_config: allow, configs }];
}

/** Searches, then fetches what was found and what nobody has named, then says so. */
function script(request: MessagesRequest) {
  switch (toolResultsOf(request).size) {
    case 0:
      return answer(toolCall("web_search", { query: "x https://made-up.example/" }));
    case 1:
      return answer(
        toolCall("web_fetch", { url: FOUND }),
        toolCall("web_fetch", { url: "https://made-up.example/" }),
        toolCall("web_fetch", { url: "https://named.example" }),
      );
    default:
      return answer(text("Done."));
  }
}

const world = () =>
  createBrainWorld({
    script,
    prices: { ...NO_PRICES, search: SEARCH_PRICE },
    tools: {
      web_search: () => `1. A page\nURL: ${FOUND}`,
      web_fetch: ({ settings }) => JSON.stringify(settings),
    },
  });
type World = Awaited<ReturnType<typeof world>>;

async function started(brain: World) {
  const key = await brain.newSession();
  await brain.send(key, "Look at https://named.example/, please.");
  return key;
}
const ALL = { client_tool_results: null, server_tool_results: null, user_input: null };
const depsOf = (brain: World, url_sources: object | null) => ({
  ...brain.deps,
  toolsOf: () => offeredTools(toolset(url_sources)),
});

const resultsOf = (log: readonly LogEvent[]) =>
  log.flatMap((event) => {
    if (event.type !== "agent.tool_result") return [];
    const [block] = event.public.content ?? [];
    return [block?.type === "text" ? block.text : ""];
  });

async function undisturbed(url_sources: object | null) {
  await using brain = await world();
  const key = await started(brain);
  const { trace } = await brain.run(0, depsOf(brain, url_sources));
  return { log: await brain.log(key), trace, ran: brain.hands.executions.length };
}

const SETTINGS = JSON.stringify({
  type: "web_fetch",
  max_content_tokens: null,
  blocked_domains: ["b.example"],
});
const REFUSED = expect.stringMatching(/^web_fetch: url_not_allowed: .*url_sources/);
const NONE = { type: "none" };

test.each([
  ["anything where there are none", null, [SETTINGS, SETTINGS, SETTINGS]],
  ["what came up where they are empty", ALL, [SETTINGS, REFUSED, SETTINGS]],
  ["no result", { ...ALL, server_tool_results: NONE }, [REFUSED, REFUSED, SETTINGS]],
  ["nothing of the user's", { ...ALL, user_input: NONE }, [SETTINGS, REFUSED, REFUSED]],
])("url_sources permit %s, and the settings go with the call", async (_, sources, expected) => {
  const { log, ran } = await undisturbed(sources);
  const byCall = new Map(
    log.flatMap((event) =>
      event.type === "agent.tool_result" ? [[event.public.tool_use_id, resultsOf([event])[0]]] : [],
    ),
  );
  const fetches = log.filter(
    (event) => event.type === "agent.tool_use" && event.public.name === "web_fetch",
  );
  expect(fetches.map(({ id }) => byCall.get(id))).toEqual(expected);
  // What is refused is neither journalled nor sent.
  expect(ran).toBe(1 + expected.filter((each) => each === SETTINGS).length);
});

test("searches and fetches are counted once they are answered, and searches cost", async () => {
  const { log } = await undisturbed(ALL);
  const { account } = fold(log);
  expect(account.usage.server_tool_use).toEqual({ web_search_requests: 1, web_fetch_requests: 2 });
  expect(BigInt(account.cost)).toBe(BigInt(SEARCH_PRICE));
  const before = log.findIndex((event) => event.type === "agent.tool_result");
  expect(fold(log.slice(0, before)).account.usage).not.toHaveProperty("server_tool_use");
});

test("what failed is not counted", async () => {
  await using brain = await createBrainWorld({
    script,
    tools: { "*": () => ({ content: [{ type: "text", text: "no" }], is_error: true }) },
  });
  const key = await started(brain);
  await brain.run(0, depsOf(brain, null));
  expect(fold(await brain.log(key)).account.usage).not.toHaveProperty("server_tool_use");
});

describe("killed at any step", async () => {
  const reference = await undisturbed(ALL);
  const steps = reference.trace.map((name, index) => ({ name, killAt: index + 1 }));

  test.each(steps)("$name (step $killAt), the log is the same", async ({ killAt }) => {
    await using brain = await world();
    const key = await started(brain);
    await brain.run(killAt, depsOf(brain, ALL));
    for (let next = 0; next < 3; next += 1) await brain.run(0, depsOf(brain, ALL));
    const log = await brain.log(key);
    expect(brokenLogRules(log)).toEqual([]);
    expect(comparableLog(log)).toEqual(comparableLog(reference.log));
    const runs = brain.hands.executions.map(({ callId }) => callId);
    expect([new Set(runs).size, runs.length]).toEqual([3, 3]);
    expect(fold(log).account.usage.server_tool_use).toEqual({
      web_search_requests: 1,
      web_fetch_requests: 2,
    });
  });
});
