import type { UrlSources } from "@drover/api";
import { expect, test } from "vitest";
import type { LogEvent } from "../session/log-event.ts";
import { UrlSearch } from "./url-sources.ts";

const URL = "https://example.com/a";
const ALL: UrlSources = { client_tool_results: null, server_tool_results: null, user_input: null };
const NONE = { type: "none" } as const;
const named = (type: "only" | "except", name: string) => ({
  type,
  tools: [{ type: "tool_reference" as const, name }],
});

/** As much of events as is looked at, the newest first as the log is read. */
const said = (text: string) => event("user.message", { content: [{ type: "text", text }] });
function called(name: string, text: string, isError = false) {
  const isCustom = !["web_fetch", "web_search", "bash", "read"].includes(name);
  const content = [{ type: "text", text }];
  const result = isCustom
    ? event("user.custom_tool_result", { custom_tool_use_id: name, content, is_error: isError })
    : event("agent.tool_result", { tool_use_id: name, content, is_error: isError });
  const use = event(
    isCustom ? "agent.custom_tool_use" : "agent.tool_use",
    { name, input: {} },
    name,
  );
  return [result, use];
}
function event(type: LogEvent["type"], shown: object, id = "sevt_1"): LogEvent {
  return { id, type, public: shown, private: {} } as LogEvent;
}

const found = (sources: UrlSources, events: readonly LogEvent[]) => {
  const search = new UrlSearch(URL, sources);
  return events.some((each) => search.isFoundIn(each));
};

test("each source is one unless the settings say otherwise, and nothing else is", () => {
  const events = {
    user: [said(`look at ${URL}.`)],
    custom: called("lookup", URL),
    search: called("web_search", `1. A\nURL: ${URL}`),
    fetch: called("web_fetch", `see <${URL}>`),
    bash: called("bash", URL),
    failed: called("web_fetch", `${URL} is not allowed`, true),
    failedCustom: called("lookup", URL, true),
    other: [said("https://example.com/b")],
  };
  const foundIn = (sources: Partial<UrlSources>) =>
    Object.entries(events).flatMap(([name, list]) =>
      found({ ...ALL, ...sources }, list) ? [name] : [],
    );
  expect(foundIn({})).toEqual(["user", "custom", "search", "fetch"]);
  expect(foundIn({ user_input: NONE })).toEqual(["custom", "search", "fetch"]);
  expect(foundIn({ client_tool_results: NONE })).toEqual(["user", "search", "fetch"]);
  expect(foundIn({ server_tool_results: NONE })).toEqual(["user", "custom"]);
  expect(foundIn({ server_tool_results: named("only", "web_search") })).toEqual([
    "user",
    "custom",
    "search",
  ]);
  expect(foundIn({ server_tool_results: named("except", "web_search") })).toEqual([
    "user",
    "custom",
    "fetch",
  ]);
  expect(foundIn({ client_tool_results: named("only", "lookup") })).toContain("custom");
  expect(foundIn({ client_tool_results: named("only", "Lookup") })).not.toContain("custom");
  expect(foundIn({ client_tool_results: named("except", "lookup") })).not.toContain("custom");
});
