import { expect, test } from "vitest";
import { loadConfig } from "../config.ts";
import { networkMark } from "./network-mark.ts";

const SEARCH = {
  DROVER_SEARCH_PROVIDER: "brave",
  DROVER_SEARCH_URL: "https://search.example",
  DROVER_SEARCH_API_KEY: "canary-key",
};
const markOf = (settings: Record<string, string> = {}) => networkMark(loadConfig(settings));

test("hands with another way out, another search or other limits are others; the order of names is nothing", () => {
  const marks = [
    markOf(),
    markOf({ DROVER_EGRESS_ALLOW: "10.0.0.0/8,mcp.internal" }),
    markOf({ DROVER_SANDBOX_NETWORK: "none" }),
    markOf({ DROVER_SANDBOX_MEMORY_MB: "512" }),
    markOf({ DROVER_SANDBOX_DISK_MB: "512" }),
    markOf({ DROVER_SANDBOX_ENFORCE: "required" }),
    markOf({ DROVER_SANDBOX_PROVIDER: "docker" }),
    markOf({ DROVER_SANDBOX_PROVIDER: "docker,gvisor" }),
    markOf({ DROVER_DOCKER_IMAGE: "debian:12" }),
    markOf(SEARCH),
    markOf({ ...SEARCH, DROVER_SEARCH_PROVIDER: "tavily" }),
    markOf({ ...SEARCH, DROVER_SEARCH_URL: "https://other.example" }),
    markOf({ ...SEARCH, DROVER_SEARCH_API_KEY: "another-key" }),
  ];
  expect(new Set(marks).size).toBe(marks.length);
  expect(marks.join()).not.toContain("canary");
  expect(markOf({ DROVER_EGRESS_ALLOW: "mcp.internal,10.0.0.0/8" })).toBe(marks[1]);
  expect(markOf(SEARCH)).toBe(marks[9]);
});
