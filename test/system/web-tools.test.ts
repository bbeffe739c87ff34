import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { AgentCreateParams } from "@anthropic-ai/sdk/resources/beta/agents/agents";
import {
  answer,
  type SearchProvider,
  startMessagesApi,
  startSearchProvider,
  toolCall,
} from "@drover/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Conversation, isType, messagesOf, resultsOf } from "./support/conversation.ts";
import { handsPid, sandboxPids } from "./support/host.ts";
import { lastWords, script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { World } from "./support/world.ts";

/** One world with a search provider; the tests send to loopback alone. */
let world: World;
let provider: SearchProvider;

beforeAll(async () => {
  provider = await startSearchProvider("brave");
  world = new World(await startMessagesApi({ script: lastWords() }), {
    DROVER_EGRESS_ALLOW: "127.0.0.1/32",
    DROVER_SEARCH_PROVIDER: "brave",
    DROVER_SEARCH_URL: provider.url,
    DROVER_SEARCH_API_KEY: provider.key,
  });
  await world.start();
});
afterAll(async () => {
  const refusals = [...world.model.refusals];
  await world.close();
  await provider[Symbol.asyncDispose]();
  expect([refusals, provider.problems]).toEqual([[], []]);
});

type Visit = (request: IncomingMessage, response: ServerResponse) => void;
type ToolConfigs = Extract<
  NonNullable<AgentCreateParams["tools"]>[number],
  { type: "agent_toolset_20260401" }
>["configs"];

/** A site on loopback; 127.0.0.1 may be dialled, and no other address of this machine. */
async function openSite(visit: Visit) {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    visits.push(request.url ?? "");
    visit(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { visits, port, at: (path: string) => `http://127.0.0.1:${port}${path}` };
}

const html = (response: ServerResponse, body: string) =>
  response.writeHead(200, { "content-type": "text/html" }).end(body);
const fetching = (url: string) => toolCall("web_fetch", { url });

async function open(configs: NonNullable<ToolConfigs> = []) {
  const tools = [{ type: "agent_toolset_20260401" as const, configs }];
  return await Conversation.open(world, { tools });
}

/** The results of one response with these calls, in their order. */
async function run(talk: Conversation, ...calls: ReturnType<typeof toolCall>[]) {
  await talk.say(script(answer(...calls), answer("done")));
  const history = await talk.afterTurns(1);
  const uses = history.filter(isType("agent.tool_use"));
  const results = history.filter(isType("agent.tool_result"));
  return uses.map(({ id }) => {
    const result = results.filter(({ tool_use_id }) => tool_use_id === id);
    return resultsOf(result)[0] ?? { text: "no result", isError: true };
  });
}

test("an agent searches and reads a page, without a sandbox, and both are counted", async () => {
  const site = await openSite((_, response) => void html(response, "<h1>Oaks</h1>are tall"));
  provider.found = [{ url: site.at("/oaks"), title: "Oaks", snippet: "tall <b>trees</b>" }];
  const talk = await open();
  const [found, page] = await run(
    talk,
    toolCall("web_search", { query: "how tall are oaks" }),
    fetching(site.at("/oaks")),
  );
  expect(found).toEqual({ isError: false, text: `1. Oaks\nURL: ${site.at("/oaks")}\ntall trees` });
  expect(page?.text).toContain("# Oaks\n\nare tall");
  expect(sandboxPids(world)).toEqual([]);
  const { usage } = await world.client.beta.sessions.retrieve(talk.id);
  expect(usage.server_tool_use).toEqual({ web_search_requests: 1, web_fetch_requests: 1 });
  const everything = JSON.stringify([await talk.history(), world.model.requests, world.log]);
  expect(everything).not.toContain(provider.key);
});

test("calls outside of the sandbox are no use of it: a fork lacks nothing and has no sandbox either", async () => {
  const site = await openSite((_, response) => void html(response, "here"));
  const talk = await open();
  await run(talk, fetching(site.at("/")));
  const history = await talk.history();
  const points = [history.find(isType("agent.tool_use"))?.id, history.at(-1)?.id];
  for (const event_id of points) {
    const response = await fetch(`${world.url}/v1/drover/sessions/${talk.id}/fork`, {
      method: "POST",
      headers: { "x-api-key": world.apiKey, "content-type": "application/json" },
      body: JSON.stringify({ event_id }),
    });
    expect(response.status, await response.text()).toBe(200);
  }
  expect(sandboxPids(world)).toEqual([]);
});

test("the provider's key is in no sandbox", async () => {
  const talk = await open();
  const look = "cat /proc/*/environ /proc/*/cmdline 2>&1 | tr '\\0' '\\n'; env; echo looked";
  const [result] = await run(talk, toolCall("bash", { command: look }));
  expect(result?.text).toContain("looked");
  expect(result?.text).not.toContain(provider.key);
});

test("a session that searched nothing has no count of it", async () => {
  const talk = await open();
  await talk.say("hello");
  await talk.afterTurns(1);
  const { usage } = await world.client.beta.sessions.retrieve(talk.id);
  expect(usage.server_tool_use ?? null).toBeNull();
});

test("private addresses are refused, asked for by name, in any notation or by a redirect", async () => {
  const site = await openSite(({ url }, response) => {
    if (url === "/away") response.writeHead(302, { location: `http://127.0.0.2:${site.port}/` });
    response.end("here");
  });
  const refused = [
    `http://127.0.0.2:${site.port}/`,
    `http://[::1]:${site.port}/`,
    `http://2130706434:${site.port}/`,
    site.at("/away"),
  ];
  const results = await run(await open(), fetching(site.at("/")), ...refused.map(fetching));
  expect(results[0]?.text).toContain("here");
  for (const result of results.slice(1)) {
    expect(result).toEqual({ isError: true, text: expect.stringContaining("url_not_allowed") });
  }
  expect(site.visits.toSorted()).toEqual(["/", "/away"]);
});

test("the agent's own lists and limits hold", async () => {
  const site = await openSite((_, response) => void html(response, "word ".repeat(1_000)));
  provider.found = [{ url: "https://a.example/1" }, { url: "https://b.example/2" }];
  const talk = await open([
    { name: "web_fetch", blocked_domains: ["127.0.0.1"] },
    { name: "web_search", blocked_domains: ["a.example"] },
  ]);
  const [fetched, found] = await run(
    talk,
    fetching(site.at("/")),
    toolCall("web_search", { query: "anything" }),
  );
  expect(fetched).toEqual({ isError: true, text: expect.stringContaining("url_not_allowed") });
  expect(found?.text).toBe("1. https://b.example/2\nURL: https://b.example/2");
  expect(site.visits).toEqual([]);
  const brief = await open([
    { name: "web_fetch", allowed_domains: ["127.0.0.1"], max_content_tokens: 20 },
  ]);
  const [page] = await run(brief, fetching(site.at("/")));
  expect(page?.text).toMatch(/Shown: the first 20 of about 1667 tokens.*\n\n(?:word ?){12}$/s);
});

test("url_sources: only what came up where they say is fetched", async () => {
  const site = await openSite((_, response) => void html(response, "here"));
  provider.found = [{ url: site.at("/found"), title: "Found" }];
  const talk = await open([{ name: "web_fetch", url_sources: { user_input: "none" } }]);
  await talk.say(
    `${script(
      answer(toolCall("web_search", { query: site.at("/made-up") })),
      answer(
        fetching(site.at("/found")),
        fetching(site.at("/made-up")),
        fetching(`${site.at("/found")}?q=secret`),
      ),
      answer("done"),
    )}`,
  );
  const results = resultsOf(await talk.afterTurns(1)).slice(1);
  expect(results.filter(({ isError }) => isError)).toHaveLength(2);
  expect(results.filter(({ text }) => text.includes("url_not_allowed"))).toHaveLength(2);
  expect(site.visits).toEqual(["/found"]);
});

test("what is too large, a bomb, binary or in another encoding is told or read", async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000, "a"));
  const site = await openSite(({ url }, response) => {
    const type = url === "/zip" ? "application/zip" : "text/plain; charset=iso-8859-1";
    response.setHeader("content-type", type);
    if (url === "/bomb") response.setHeader("content-encoding", "gzip");
    const body =
      url === "/bomb" ? bomb : url === "/large" ? Buffer.alloc(6_000_000, "a") : undefined;
    response.end(body ?? Buffer.from([0x66, 0xfc, 0x72]));
  });
  const paths = ["/large", "/bomb", "/zip", "/text"];
  const results = await run(await open(), ...paths.map((path) => fetching(site.at(path))));
  expect(results.map(({ text }) => text.split(": ")[1])).toEqual([
    "content_too_large",
    "content_too_large",
    "unsupported_content_type",
    expect.anything(),
  ]);
  expect(results[3]?.text).toContain("\n\nfür");
});

test("an image and a PDF are given to the model as what they are", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const pdf = Buffer.from(
    "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
  );
  const site = await openSite(({ url }, response) => {
    response.setHeader("content-type", url === "/png" ? "image/png" : "application/pdf");
    response.end(url === "/png" ? Buffer.from(png, "base64") : pdf);
  });
  const talk = await open();
  await talk.say(
    script(answer(fetching(site.at("/png")), fetching(site.at("/pdf"))), answer("seen")),
  );
  const history = await talk.afterTurns(1);
  expect(messagesOf(history)).toEqual(["seen"]);
  const blocks = history
    .filter(isType("agent.tool_result"))
    .flatMap(({ content }) => content ?? []);
  expect(blocks.map(({ type }) => type).toSorted()).toEqual(["document", "image", "text", "text"]);
  const sent = JSON.stringify(world.model.requests.at(-1)?.body["messages"]);
  expect([sent.includes(png), sent.includes(pdf.toString("base64"))]).toEqual([true, true]);
});

test("it asks where the policy says so, and nothing is fetched before", async () => {
  const site = await openSite((_, response) => void html(response, "here"));
  const talk = await open([{ name: "web_fetch", permission_policy: { type: "always_ask" } }]);
  await talk.say(script(answer(fetching(site.at("/"))), answer("done")));
  const use = (await talk.afterTurns(1)).find(isType("agent.tool_use"));
  expect([use?.evaluated_permission, site.visits]).toEqual(["ask", []]);
  await talk.send({
    type: "user.tool_confirmation",
    tool_use_id: use?.id ?? "",
    result: "allow",
  });
  expect(resultsOf(await talk.afterTurns(2))[0]?.text).toContain("here");
});

test("a fetch can be interrupted", async () => {
  const site = await openSite((_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("drop");
  });
  const talk = await open();
  await talk.say(script(answer(fetching(site.at("/endless"))), answer("done")));
  await until("the visit", () => site.visits[0]);
  await talk.interrupt();
  const results = resultsOf(await talk.afterTurns(1));
  expect(results).toEqual([{ isError: true, text: expect.stringContaining("interrupted") }]);
});

test("hands that die during a fetch are one error, and nothing is fetched twice", async () => {
  const site = await openSite(() => undefined);
  const talk = await open();
  await talk.say(script(answer(fetching(site.at("/held"))), answer("went on")));
  await until("the visit", () => site.visits[0]);
  process.kill(handsPid(world) ?? 0, "SIGKILL");
  const history = await talk.afterTurns(1);
  expect(resultsOf(history)).toEqual([{ isError: true, text: expect.stringContaining("unknown") }]);
  expect(messagesOf(history)).toEqual(["went on"]);
  expect(site.visits).toEqual(["/held"]);
});

test("a server that dies during a fetch takes its result up again, fetched once", async () => {
  const held: ServerResponse[] = [];
  const site = await openSite((_, response) => void held.push(response));
  const talk = await open();
  await talk.say(script(answer(fetching(site.at("/held"))), answer("went on")));
  await until("the visit", () => site.visits[0]);
  await world.restart();
  for (const response of held) html(response, "after all");
  const [result] = resultsOf(await talk.afterTurns(1));
  expect(result).toEqual({ isError: false, text: expect.stringContaining("after all") });
  expect(site.visits).toEqual(["/held"]);
});
