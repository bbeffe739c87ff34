import { expect, test } from "vitest";
import { normalizedUrl } from "./server-url.ts";

test.each([
  ["https://mcp.example.com", "https://mcp.example.com"],
  ["https://mcp.example.com/", "https://mcp.example.com"],
  ["HTTPS://MCP.Example.com:443/", "https://mcp.example.com"],
  ["http://localhost:80/mcp/", "http://localhost/mcp"],
  ["https://mcp.example.com:8443/mcp", "https://mcp.example.com:8443/mcp"],
  ["https://mcp.example.com/Mcp/?tenant=A#part", "https://mcp.example.com/Mcp?tenant=A"],
])("%s is known as %s", (url, known) => {
  expect(normalizedUrl(url)).toBe(known);
});
