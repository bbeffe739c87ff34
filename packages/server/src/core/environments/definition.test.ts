import type { EnvironmentCreateParams, EnvironmentUpdateParams } from "@drover/api";
import { describe, expect, test } from "vitest";
import { newEnvironment, updatedEnvironment } from "./definition.ts";

const none = { apt: [], cargo: [], gem: [], go: [], npm: [], pip: [] };
const packages = { type: "packages", ...none };

function made(fields: Omit<EnvironmentCreateParams, "name">) {
  return newEnvironment({ name: "e", ...fields });
}

describe("a new environment", () => {
  test.each<[string, Omit<EnvironmentCreateParams, "name">, object]>([
    [
      "nothing",
      {},
      {
        config: { type: "cloud", networking: { type: "unrestricted" }, packages },
        description: null,
        metadata: {},
        scope: "organization",
      },
    ],
    ["an empty description", { description: "" }, { description: "" }],
    [
      "bare limited networking",
      { config: { type: "cloud", networking: { type: "limited", allowed_hosts: null } } },
      {
        config: {
          type: "cloud",
          networking: {
            type: "limited",
            allowed_hosts: [],
            allow_mcp_servers: false,
            allow_package_managers: false,
          },
          packages,
        },
      },
    ],
    [
      "packages",
      { config: { type: "cloud", packages: { pip: ["x==1"], npm: null } } },
      {
        config: {
          type: "cloud",
          networking: { type: "unrestricted" },
          packages: { ...packages, pip: ["x==1"] },
        },
      },
    ],
    ["self-hosted", { config: { type: "self_hosted" } }, { config: { type: "self_hosted" } }],
  ])("from %s", (_, params, expected) => {
    expect(made(params)).toMatchObject(expected);
  });

  test.each<[string, Omit<EnvironmentCreateParams, "name">, string]>([
    ["an account's scope", { scope: "account" }, "scope: only organization"],
    [
      "packages that limited networking cannot fetch",
      { config: { type: "cloud", networking: { type: "limited" }, packages: { pip: ["x"] } } },
      "config.packages: limited networking needs allow_package_managers",
    ],
  ])("is refused with %s", (_, params, problem) => {
    expect(() => made(params)).toThrow(problem);
  });
});

describe("an update", () => {
  const limited = {
    type: "limited" as const,
    allowed_hosts: ["a.b"],
    allow_mcp_servers: true,
    allow_package_managers: true,
  };
  const current = made({
    description: "d",
    metadata: { a: "1", b: "2", c: "3" },
    config: { type: "cloud", networking: limited, packages: { pip: ["x"], npm: ["y"] } },
  });
  const { config } = current;

  test.each<[string, EnvironmentUpdateParams, object]>([
    ["keeps what is left out", {}, {}],
    ["keeps a config of null", { config: null }, {}],
    ["keeps what is left out of the config", { config: { type: "cloud" } }, {}],
    [
      "keeps what is left out of the networking",
      { config: { type: "cloud", networking: { type: "limited", allow_mcp_servers: false } } },
      { config: { ...config, networking: { ...limited, allow_mcp_servers: false } } },
    ],
    [
      "replaces a list of hosts",
      { config: { type: "cloud", networking: { type: "limited", allowed_hosts: [] } } },
      { config: { ...config, networking: { ...limited, allowed_hosts: [] } } },
    ],
    [
      "changes the kind of networking",
      { config: { type: "cloud", networking: { type: "unrestricted" } } },
      { config: { ...config, networking: { type: "unrestricted" } } },
    ],
    [
      "replaces the packages of one manager",
      { config: { type: "cloud", packages: { pip: [] } } },
      { config: { ...config, packages: { ...packages, npm: ["y"] } } },
    ],
    ["clears the description", { description: null }, { description: null }],
    ["stores an empty description as such", { description: "" }, { description: "" }],
    [
      "deletes metadata with null or nothing",
      { metadata: { a: null, b: "", d: "4" } },
      { metadata: { c: "3", d: "4" } },
    ],
  ])("%s", (_, params, changes) => {
    expect(updatedEnvironment(current, params)).toStrictEqual({ ...current, ...changes });
  });

  test("cannot change the kind of environment", () => {
    expect(() => updatedEnvironment(current, { config: { type: "self_hosted" } })).toThrow(
      expect.objectContaining({ code: "invalid_config_type_change" }),
    );
  });

  test("is validated in its merged form", () => {
    const networking = { type: "limited", allow_package_managers: false } as const;
    expect(() => updatedEnvironment(current, { config: { type: "cloud", networking } })).toThrow(
      "limited networking needs allow_package_managers",
    );
  });
});
