import { expect, test } from "vitest";
import { BUILTIN_TOOLS } from "./builtin-tools.ts";
import { isSerialTool } from "./serial.ts";

test("offers the eight tools, with the fields of the contract", () => {
  const fields = BUILTIN_TOOLS.map(({ name, input_schema }) => {
    const { properties, required = [] } = input_schema;
    return [name, Object.keys(Object(properties)), required];
  });
  expect(fields).toEqual([
    ["bash", ["command", "restart", "timeout_ms"], []],
    ["read", ["file_path", "view_range"], ["file_path"]],
    ["write", ["file_path", "content"], ["file_path", "content"]],
    [
      "edit",
      ["file_path", "old_string", "new_string", "replace_all"],
      ["file_path", "old_string", "new_string"],
    ],
    ["glob", ["pattern", "path"], ["pattern"]],
    ["grep", ["pattern", "path"], ["pattern"]],
    ["web_fetch", ["url"], ["url"]],
    ["web_search", ["query"], ["query"]],
  ]);
});

test("only the tool with the persistent shell is serial", () => {
  expect(BUILTIN_TOOLS.map(({ name }) => name).filter(isSerialTool)).toEqual(["bash"]);
});
