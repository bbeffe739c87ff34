import { expect, test } from "vitest";
import { offeredTools } from "./offered-tools.ts";

const allow = { enabled: true, permission_policy: { type: "always_allow" } };
const ask = { enabled: true, permission_policy: { type: "always_ask" } };
const toolset = (
  default_config: object,
  configs: readonly object[] = [],
): Readonly<Record<string, unknown>> => ({
  type: "agent_toolset_20260401",
  default_config,
  configs,
});
const names = (tools: readonly unknown[]) =>
  offeredTools(tools).map(({ definition }) => definition.name);
const policies = (tools: readonly unknown[]) =>
  offeredTools(tools).map((tool) => (tool.runBy === "hands" ? tool.policy : tool.runBy));

test("an agent without tools is offered nothing", () => {
  expect(names([])).toEqual([]);
  expect(names([{ type: "of_tomorrow", name: "bash" }])).toEqual([]);
});

test("the toolset offers what is built and enabled, unless a tool's own config says otherwise", () => {
  const all = ["bash", "read", "write", "edit", "glob", "grep", "web_fetch", "web_search"];
  expect(names([toolset(allow)])).toEqual(all);
  const off = { ...allow, name: "bash", enabled: false };
  expect(names([toolset(allow, [off])])).toEqual(all.slice(1));
  const onlyRead = toolset({ ...allow, enabled: false }, [{ ...allow, name: "read" }]);
  expect(names([onlyRead])).toEqual(["read"]);
});

test("a tool's own policy goes before the toolset's", () => {
  const auto = { enabled: true, permission_policy: { type: "auto" } };
  const own = [
    { ...allow, name: "read" },
    { ...auto, name: "write" },
  ];
  expect(policies([toolset(ask, own)])).toEqual([
    "always_ask",
    "always_allow",
    "auto",
    ...Array(5).fill("always_ask"),
  ]);
});

test("a policy that is not known asks", () => {
  const odd = { enabled: true, permission_policy: { type: "something_new" } };
  expect(new Set(policies([toolset(odd)]))).toEqual(new Set(["always_ask"]));
});

test("a custom tool is run by the client, with its schema but for what is null", () => {
  const schema = { type: "object", properties: null, required: null, additionalProperties: false };
  const tool = { type: "custom", name: "weather", description: "Tells it.", input_schema: schema };
  expect(offeredTools([tool, toolset({ ...allow, enabled: false })])).toEqual([
    {
      runBy: "client",
      definition: {
        name: "weather",
        description: "Tells it.",
        input_schema: { type: "object", additionalProperties: false },
      },
    },
  ]);
});
