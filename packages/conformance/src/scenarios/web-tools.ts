import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, configured } from "../support/agents.ts";
import { assertHas } from "../support/expect.ts";
import { newEnvironment, newSession } from "../support/fixtures.ts";
import { openSite, type Site } from "../support/site.ts";
import { historyOf, runTurn, type SessionEvent, script } from "../support/turns.ts";
import type { Target } from "../target.ts";

const NEEDS = ["scripted-model", "loopback"] as const;
const ALLOWED = "127.0.0.1";

interface Told {
  readonly text: string;
  readonly isError: boolean;
}

function hello(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/html" }).end("<h1>Hello</h1><p>from a site</p>");
}

/** Fetches one after another. The URLs are in the agent's system prompt, and so no source of any. */
function fetching(...urls: readonly string[]): string {
  const steps = urls.map((url) => `- { tool: web_fetch, input: { url: "${url}" } }`);
  return script(`\n${steps.join("\n")}\n- say: done\n`);
}

async function sessionWith(t: Target, config: object, system: string) {
  const agent = await agentWith(t, { system, tools: configured({ name: "web_fetch", ...config }) });
  return await newSession(t, { agent: agent.id });
}

function resultsOf(events: readonly SessionEvent[]): readonly Told[] {
  return events.flatMap((event) => {
    if (event.type !== "agent.tool_result") return [];
    const texts = (event.content ?? []).map((block) => (block.type === "text" ? block.text : ""));
    return [{ text: texts.join(""), isError: event.is_error === true }];
  });
}

/** What a new session's fetches of these URLs give. */
async function fetched(
  t: Target,
  config: object,
  urls: readonly string[],
  says = "Go on.",
): Promise<readonly Told[]> {
  const { id } = await sessionWith(t, config, fetching(...urls));
  return resultsOf(await runTurn(t, id, says));
}

function assertRefused(result: Told | undefined, code: string): void {
  assertHas(result ?? {}, { isError: true });
  assert.match(result?.text ?? "", new RegExp(code));
}

function assertRead(result: Told | undefined, text = "from a site"): void {
  assert.ok(result?.text.includes(text), result?.text);
  assert.equal(result?.isError, false);
}

function assertVisits({ visits }: Site, ...paths: readonly string[]): void {
  assert.deepEqual(visits, paths);
}

/** Web tools as a session's agent uses them, on sites that scenarios open. */
export const webTools: readonly Scenario[] = [
  scenario(
    "web_fetch reads a page, whatever the environment's networking, and is counted",
    {
      verifies: ["web.fetch.result", "web.fetch.networking", "web.fetch.redirects", "web.usage"],
      needs: NEEDS,
    },
    async (t) => {
      await using site = await openSite(({ url }, response) => {
        if (url === "/old") response.writeHead(301, { location: "/new" }).end();
        else hello(response);
      });
      const agent = await agentWith(t, {
        system: fetching(site.at("/"), site.at("/old")),
        tools: configured({ name: "bash" }),
      });
      const networking = { type: "limited" as const, allowed_hosts: ["example.com"] };
      const environment = await newEnvironment(t, { config: { type: "cloud", networking } });
      const { id, usage } = await newSession(t, {
        agent: agent.id,
        environment_id: environment.id,
      });
      assert.equal(usage.server_tool_use ?? null, null);
      const results = resultsOf(await runTurn(t, id, "Go on."));
      for (const result of results) assertRead(result);
      assertVisits(site, "/", "/old", "/new");
      const after = await t.client.beta.sessions.retrieve(id);
      assertHas(after.usage.server_tool_use ?? {}, { web_fetch_requests: 2 });
    },
  ),

  scenario(
    "what web_fetch cannot read is an error, and the turn goes on",
    { verifies: ["web.fetch.error", "web.fetch.private", "web.fetch.too-large"], needs: NEEDS },
    async (t) => {
      await using site = await openSite(({ url }, response) => {
        if (url === "/large") response.end(Buffer.alloc(64 * 1024 * 1024, "a"));
        else if (url === "/inside") {
          response.writeHead(302, { location: "http://169.254.169.254/" }).end();
        } else response.writeHead(404).end();
      });
      const urls = ["/absent", "/large", "/inside"].map((path) => site.at(path));
      const results = await fetched(t, {}, [...urls, "http://10.0.0.1/", "no url"]);
      assert.equal(results.length, 5);
      for (const result of results) assertHas(result, { isError: true });
      assertRefused(results[1], "content_too_large");
      assertRefused(results[2], "url_not_allowed");
      assertRefused(results[3], "url_not_allowed");
    },
  ),

  scenario(
    "web_fetch keeps to its domains, also where it is redirected",
    {
      verifies: ["web.fetch.allowed", "web.fetch.blocked", "web.fetch.redirects-blocked"],
      needs: NEEDS,
    },
    async (t) => {
      await using other = await openSite((_, response) => hello(response));
      const elsewhere = other.at("/there").replace(ALLOWED, "localhost");
      await using site = await openSite(({ url }, response) => {
        if (url === "/away") response.writeHead(302, { location: elsewhere }).end();
        else hello(response);
      });
      const urls = [site.at("/"), elsewhere, site.at("/away")];
      for (const config of [{ allowed_domains: [ALLOWED] }, { blocked_domains: ["localhost"] }]) {
        const [inside, outside, redirected] = await fetched(t, config, urls);
        assertRead(inside);
        assertRefused(outside, "url_not_allowed");
        assertRefused(redirected, "url_not_allowed");
      }
      assertVisits(other);
      for (const config of [{ allowed_domains: ["example.com"] }, { blocked_domains: [ALLOWED] }]) {
        const [refused] = await fetched(t, config, [site.at("/never")]);
        assertRefused(refused, "url_not_allowed");
      }
      assertVisits(site, "/", "/away", "/", "/away");
    },
  ),

  scenario(
    "max_content_tokens limits what web_fetch gives of a text",
    { verifies: ["web.fetch.tokens"], needs: NEEDS },
    async (t) => {
      await using site = await openSite((_, response) => {
        response.writeHead(200, { "content-type": "text/plain" }).end("word ".repeat(4_000));
      });
      const words = async (max_content_tokens: number) => {
        const [result] = await fetched(t, { max_content_tokens }, [site.at("/")]);
        return result?.text.match(/\bword\b/g)?.length ?? 0;
      };
      assert.equal(await words(100_000), 4_000);
      const few = await words(100);
      assert.ok(few > 10 && few < 400, `${few} words`);
    },
  ),

  scenario(
    "web_fetch asks where its policy says so, and is not run where it is disabled",
    { verifies: ["web.fetch.ask", "web.fetch.disabled"], needs: NEEDS },
    async (t) => {
      await using site = await openSite((_, response) => hello(response));
      const system = fetching(site.at("/"));
      const { id } = await sessionWith(t, { permission_policy: { type: "always_ask" } }, system);
      const events = await runTurn(t, id, "Go on.");
      const use = events.find((event) => event.type === "agent.tool_use");
      assertHas(use ?? {}, { evaluated_permission: "ask" });
      assertVisits(site);
      const confirmation = { type: "user.tool_confirmation", result: "allow" } as const;
      const stream = await t.client.beta.sessions.events.stream(id);
      await t.client.beta.sessions.events.send(id, {
        events: [{ ...confirmation, tool_use_id: use?.id ?? "" }],
      });
      for await (const event of stream) if (event.type === "session.status_idle") break;
      assertRead(resultsOf(await historyOf(t, id))[0]);
      assertVisits(site, "/");
      const [result] = await fetched(t, { enabled: false }, [site.at("/disabled")]);
      assertHas(result ?? {}, { isError: true });
      assertVisits(site, "/");
    },
  ),

  scenario(
    "url_sources permit what came up where they say, and nothing else",
    {
      verifies: [
        "web.sources.user",
        "web.sources.unseen",
        "web.sources.null",
        "web.sources.server",
      ],
      needs: NEEDS,
    },
    async (t) => {
      await using site: Site = await openSite(({ url }, response) => {
        response.writeHead(200, { "content-type": "text/html" });
        const link = url === "/named" ? `<a href="${site.at("/linked")}">more</a>` : "";
        response.end(`from a site ${link}`);
      });
      const urls = ["/named", "/linked", "/unseen"].map((path) => site.at(path));
      const says = `Look at ${urls[0]}.`;
      const outcomes = async (url_sources: object | null) => {
        const results = await fetched(t, { url_sources }, urls, says);
        for (const { isError, text } of results) if (isError) assert.match(text, /url_not_allowed/);
        return results.map(({ isError }) => !isError);
      };
      const only = { type: "only", tools: [{ type: "tool_reference", name: "web_search" }] };
      assert.deepEqual(await outcomes(null), [true, true, true]);
      assert.deepEqual(await outcomes({}), [true, true, false]);
      assert.deepEqual(await outcomes({ server_tool_results: "none" }), [true, false, false]);
      assert.deepEqual(await outcomes({ server_tool_results: only }), [true, false, false]);
      assert.deepEqual(await outcomes({ user_input: "none" }), [false, false, false]);
    },
  ),

  scenario(
    "web_search is answered by the server",
    { verifies: ["web.search.result"], needs: ["scripted-model"] },
    async (t) => {
      const { id } = await newSession(t);
      const text = script(`\n- { tool: web_search, input: { query: "drover" } }\n- say: done\n`);
      const events = await runTurn(t, id, text);
      const [result] = resultsOf(events);
      assert.ok((result?.text ?? "") !== "", "there is no word in the result");
      assertHas(events.at(-1) ?? {}, { stop_reason: { type: "end_turn" } });
    },
  ),
];
