import type { EnvironmentConfig } from "@drover/api";
import { expect, test } from "vitest";
import { newEnvironment } from "../environments/definition.ts";
import { PACKAGE_REGISTRIES } from "./package-registries.ts";
import { sandboxNetwork } from "./sandbox-network.ts";

const mcpServers = [{ url: "https://MCP.example.com:8443/sse" }, { url: "https://[2001:db8::1]/" }];

function cloud(networking: object): EnvironmentConfig {
  const config = { type: "cloud", networking: { type: "limited", ...networking } } as const;
  return newEnvironment({ name: "e", config }).config;
}

test("an environment without more leads to every public host", () => {
  const environment = newEnvironment({ name: "e" }).config;
  expect(sandboxNetwork({ setting: "environment", environment, mcpServers })).toEqual({
    type: "unrestricted",
  });
});

test("a limited one leads to what it names, and to no more than was asked for", () => {
  const hosts = (networking: object) => {
    const network = sandboxNetwork({
      setting: "environment",
      environment: cloud(networking),
      mcpServers,
    });
    return network.type === "limited" ? network.hosts : network.type;
  };
  expect(hosts({})).toEqual([]);
  expect(hosts({ allowed_hosts: ["API.example.com", "*.a.test"] })).toEqual([
    "api.example.com",
    "*.a.test",
  ]);
  expect(hosts({ allow_mcp_servers: true })).toEqual(["mcp.example.com", "2001:db8::1"]);
  expect(hosts({ allow_package_managers: true })).toEqual(PACKAGE_REGISTRIES);
  const all = { allowed_hosts: ["pypi.org"], allow_package_managers: true };
  expect(hosts(all)).toHaveLength(PACKAGE_REGISTRIES.length);
});

test("a limited one that allows MCP servers allows those that come later, for their clients", () => {
  const allowing = cloud({ allow_mcp_servers: true });
  const network = { setting: "environment", mcpServers: [] } as const;
  expect(sandboxNetwork({ ...network, environment: allowing })).toEqual({
    ...{ type: "limited", hosts: [], mcp_servers: true },
  });
  expect(sandboxNetwork({ ...network, environment: cloud({}) })).toEqual({
    ...{ type: "limited", hosts: [] },
  });
});

test("the operator can leave all of them without one", () => {
  const environment = cloud({ allowed_hosts: ["api.example.com"] });
  expect(sandboxNetwork({ setting: "none", environment, mcpServers })).toEqual({ type: "none" });
});

test("an environment of the client's own has no sandbox here", () => {
  const environment = { type: "self_hosted" } as const;
  expect(sandboxNetwork({ setting: "environment", environment, mcpServers })).toEqual({
    type: "none",
  });
});
