import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { agentWith, configured, custom, many, noAgentWith } from "../support/agents.ts";
import { assertHas } from "../support/expect.ts";
import type { Target } from "../target.ts";

const ALL = { type: "all" };
const NONE = { type: "none" };

function listed(type: "only" | "except", ...names: string[]) {
  return { type, tools: names.map((name) => ({ type: "tool_reference", name })) };
}

/** The config as it comes back. */
async function configOf(t: Target, config: object, ...tools: object[]): Promise<object> {
  const agent = await agentWith(t, { tools: [...configured(config), ...tools] });
  const [toolset] = agent.tools;
  assert.ok(toolset?.type === "agent_toolset_20260401");
  const [first] = toolset.configs;
  assert.ok(first !== undefined);
  return first;
}

async function refusedConfig(t: Target, config: object, says: RegExp): Promise<void> {
  await noAgentWith(t, { tools: configured(config) }, says);
}

const fetching = (fields: object) => ({ name: "web_fetch", ...fields });
const searching = (fields: object) => ({ name: "web_search", ...fields });
const from = (url_sources: object | null) => fetching({ url_sources });

/** What `web_fetch` and `web_search` have beside the other tools. */
export const agentWebTools: readonly Scenario[] = [
  scenario(
    "web_fetch is limited to domains or kept from them, not both",
    {
      verifies: [
        "agents.fetch.domains",
        "agents.fetch.domains-both",
        "agents.fetch.domains-empty",
        "agents.fetch.domains-max",
        "agents.fetch.domains-host",
        "agents.quota.domains",
      ],
      rows: [14],
    },
    async (t) => {
      const domains = many(64, (index) => `host-${index}.example.com`);
      const fields = ["allowed_domains", "blocked_domains"];
      for (const field of fields) {
        const config = await configOf(t, fetching({ [field]: domains }));
        assertHas(config, { [field]: domains });
        assert.deepEqual(
          fields.filter((each) => each in config),
          [field],
        );
        await refusedConfig(t, fetching({ [field]: [] }), new RegExp(field));
        await refusedConfig(t, fetching({ [field]: [...domains, "h"] }), new RegExp(field));
        for (const bad of ["https://h.com", "h.com:443", "h.com/path", "h com", "", "*.h.com"]) {
          await refusedConfig(t, fetching({ [field]: [bad] }), new RegExp(field));
        }
      }
      const both = { allowed_domains: ["a.com"], blocked_domains: ["b.com"] };
      await refusedConfig(t, fetching(both), /allowed_domains.*blocked_domains/);
    },
  ),

  scenario(
    "web_fetch may be limited in tokens",
    { verifies: ["agents.fetch.tokens", "agents.fetch.tokens-min"], rows: [14] },
    async (t) => {
      for (const max_content_tokens of [1, 50_000, null]) {
        assertHas(await configOf(t, fetching({ max_content_tokens })), { max_content_tokens });
      }
      for (const max_content_tokens of [0, -1, 1.5, "many"]) {
        await refusedConfig(t, fetching({ max_content_tokens }), /max_content_tokens/);
      }
    },
  ),

  scenario(
    "url_sources come back in their object form",
    {
      verifies: [
        "agents.sources.present",
        "agents.sources.strings",
        "agents.sources.null-keys",
        "agents.sources.all-none",
        "agents.sources.user",
      ],
      rows: [14],
    },
    async (t) => {
      const unset = { client_tool_results: null, server_tool_results: null, user_input: null };
      assertHas(await configOf(t, fetching({})), { url_sources: null });
      assertHas(await configOf(t, from(null)), { url_sources: null });
      assertHas(await configOf(t, from({})), { url_sources: unset });
      assertHas(await configOf(t, from(unset)), { url_sources: unset });
      const strings = {
        client_tool_results: "all",
        server_tool_results: "none",
        user_input: "none",
      };
      const objects = {
        client_tool_results: ALL,
        server_tool_results: NONE,
        user_input: NONE,
      };
      for (const form of [strings, objects]) {
        assertHas(await configOf(t, from(form)), { url_sources: objects });
      }
      const nothing = {
        client_tool_results: NONE,
        server_tool_results: "none",
        user_input: "none",
      };
      await refusedConfig(t, from(nothing), /url_sources/);
      await refusedConfig(t, from({ user_input: "some" }), /user_input/);
      await refusedConfig(t, from({ user_input: listed("only", "web_search") }), /user_input/);
    },
  ),

  scenario(
    "lists of url_sources name tools that there are",
    {
      verifies: [
        "agents.sources.lists",
        "agents.sources.lists-size",
        "agents.sources.lists-distinct",
        "agents.quota.references",
        "agents.sources.reference",
        "agents.sources.client",
        "agents.sources.case",
        "agents.sources.server",
      ],
      rows: [14],
    },
    async (t) => {
      const server_tool_results = listed("except", "web_fetch", "web_search");
      const client_tool_results = listed("only", "lookup");
      const sources = { client_tool_results, server_tool_results, user_input: ALL };
      assertHas(await configOf(t, from(sources), custom("lookup")), { url_sources: sources });
      await refusedConfig(t, from({ client_tool_results }), /lookup/);
      const tools = [...configured(from({ client_tool_results })), custom("Lookup")];
      await noAgentWith(t, { tools }, /lookup/);
      await refusedConfig(t, from({ client_tool_results: listed("only", "bash") }), /bash/);
      await refusedConfig(t, from({ server_tool_results: listed("only", "bash") }), /bash/);
      const twice = listed("only", "web_fetch", "web_fetch");
      await refusedConfig(t, from({ server_tool_results: twice }), /distinct|web_fetch/);
      await refusedConfig(t, from({ server_tool_results: listed("only") }), /tools/);
      const names = many(128, (index) => `tool-${index}`);
      const customs = [...names, "tool-128"].map((name) => custom(name));
      await configOf(t, from({ client_tool_results: listed("only", ...names) }), ...customs);
      const tooMany = listed("except", ...names, "tool-128");
      const all = [...configured(from({ client_tool_results: tooMany })), ...customs];
      await noAgentWith(t, { tools: all }, /client_tool_results/);
      const untyped = { type: "only", tools: [{ name: "web_fetch" }] };
      await refusedConfig(t, from({ server_tool_results: untyped }), /tools\.0\.type/);
      const asString = { type: "only", tools: ["web_fetch"] };
      await refusedConfig(t, from({ server_tool_results: asString }), /tools\.0/);
    },
  ),

  scenario(
    "web_search is limited to domains or kept from them, also below a path",
    {
      verifies: [
        "agents.search.domains",
        "agents.search.domains-both",
        "agents.search.domains-empty",
        "agents.search.domains-max",
      ],
      rows: [14],
    },
    async (t) => {
      const domains = many(64, (index) => `host-${index}.example.com/docs/${index}`);
      for (const field of ["allowed_domains", "blocked_domains"]) {
        assertHas(await configOf(t, searching({ [field]: domains })), { [field]: domains });
        await refusedConfig(t, searching({ [field]: [] }), new RegExp(field));
        await refusedConfig(t, searching({ [field]: [...domains, "h"] }), new RegExp(field));
        for (const bad of ["https://h.com", "h.com:443", "/path", ""]) {
          await refusedConfig(t, searching({ [field]: [bad] }), new RegExp(field));
        }
      }
      const both = { allowed_domains: ["a.com"], blocked_domains: ["b.com/x"] };
      await refusedConfig(t, searching(both), /allowed_domains.*blocked_domains/);
    },
  ),

  scenario(
    "web_search may be told where the user is",
    {
      verifies: [
        "agents.search.location",
        "agents.search.location-type",
        "agents.search.country",
        "agents.search.timezone",
        "agents.search.own-fields",
      ],
      rows: [14],
    },
    async (t) => {
      const place = {
        type: "approximate",
        city: "Zürich",
        country: "CH",
        region: null,
        timezone: "Europe/Zurich",
      };
      for (const user_location of [place, { type: "approximate" }, null]) {
        assertHas(await configOf(t, searching({ user_location })), { user_location });
      }
      const refusedPlace = async (fields: object, says: RegExp) =>
        await refusedConfig(t, searching({ user_location: { ...place, ...fields } }), says);
      await refusedPlace({ type: "exact" }, /user_location/);
      await refusedPlace({ country: "ch" }, /country/);
      await refusedPlace({ country: "CHE" }, /country/);
      await refusedPlace({ timezone: "Europe/Atlantis" }, /timezone/);
      await refusedPlace({ timezone: "+01:00" }, /timezone/);
      await refusedConfig(t, searching({ url_sources: {} }), /url_sources/);
      await refusedConfig(t, fetching({ user_location: place }), /user_location/);
      await refusedConfig(t, { name: "bash", allowed_domains: ["a.com"] }, /allowed_domains/);
    },
  ),
];
