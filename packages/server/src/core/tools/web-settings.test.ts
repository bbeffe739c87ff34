import { expect, test } from "vitest";
import { offeredTools } from "./offered-tools.ts";
import { webTool } from "./web-settings.ts";

const allow = { enabled: true, permission_policy: { type: "always_allow" } };

test("a tool without a config of its own has the settings that limit nothing", () => {
  expect(webTool("web_fetch", [])).toEqual({
    settings: { type: "web_fetch", max_content_tokens: null },
    urlSources: null,
  });
  expect(webTool("web_search", [{ name: "web_fetch" }])).toEqual({
    settings: { type: "web_search", user_location: null },
    urlSources: null,
  });
  expect(webTool("bash", [])).toBeUndefined();
});

test("what an agent says of a web tool goes with it", () => {
  const url_sources = { client_tool_results: null, server_tool_results: null, user_input: null };
  const fetching = {
    ...allow,
    name: "web_fetch",
    type: "web_fetch",
    blocked_domains: ["b.example"],
    max_content_tokens: 10,
    url_sources,
  };
  const user_location = { type: "approximate", country: "DE" };
  const searching = {
    ...allow,
    name: "web_search",
    type: "web_search",
    allowed_domains: ["a.example/x"],
    user_location,
  };
  const toolset = {
    type: "agent_toolset_20260401",
    default_config: { ...allow, enabled: false },
    configs: [fetching, searching],
  };
  const webs = offeredTools([toolset]).map((tool) => tool.runBy === "hands" && tool.web);
  expect(webs).toEqual([
    {
      settings: { type: "web_fetch", max_content_tokens: 10, blocked_domains: ["b.example"] },
      urlSources: url_sources,
    },
    {
      settings: { type: "web_search", user_location, allowed_domains: ["a.example/x"] },
      urlSources: null,
    },
  ]);
});

test("settings that are not understood are none, so that the hands refuse the calls", () => {
  const odd = { ...allow, name: "web_fetch", type: "web_fetch", url_sources: "of tomorrow" };
  expect(webTool("web_fetch", [odd])).toBeUndefined();
});
