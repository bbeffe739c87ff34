import { expect, test } from "vitest";
import { offeredTools } from "./offered-tools.ts";

const allow = { enabled: true, permission_policy: { type: "always_allow" } };
const toolset = (
  default_config: object,
  configs: readonly object[] = [],
): Readonly<Record<string, unknown>> => ({
  type: "agent_toolset_20260401",
  default_config,
  configs,
});
const names = (tools: readonly unknown[]) => offeredTools(tools).map(({ name }) => name);

test("an agent without the toolset is offered nothing", () => {
  expect(names([])).toEqual([]);
  expect(names([{ type: "custom", name: "bash" }])).toEqual([]);
});

test("the toolset offers what is built and allowed, unless a tool's own config says otherwise", () => {
  const all = ["bash", "read", "write", "edit", "glob", "grep"];
  expect(names([toolset(allow)])).toEqual(all);
  const off = { ...allow, name: "bash", enabled: false };
  expect(names([toolset(allow, [off])])).toEqual(all.slice(1));
  const onlyRead = toolset({ ...allow, enabled: false }, [{ ...allow, name: "read" }]);
  expect(names([onlyRead])).toEqual(["read"]);
});

test("a tool whose calls need an approval is not offered", () => {
  for (const type of ["always_ask", "auto", "something_new"]) {
    const asking = { enabled: true, permission_policy: { type } };
    expect(names([toolset(asking)])).toEqual([]);
  }
});
