import {
  type Agent,
  AgentCreateParams,
  type EnvironmentConfig,
  SessionCreateParams,
} from "@drover/api";
import { describe, expect, test } from "vitest";
import { newDefinition } from "../agents/definition.ts";
import { overriddenAgent } from "../agents/session-agent.ts";
import { newEnvironment } from "../environments/definition.ts";
import { unsupportedParts } from "./unsupported.ts";

const self = { id: "agent_1", version: 1 };

function agent(fields: object): Agent {
  const params = AgentCreateParams.parse({ name: "a", model: "m", ...fields });
  return {
    ...newDefinition(params, { self: { ...self, name: params.name }, find: () => undefined }),
    ...self,
    type: "agent",
    created_at: "t",
    updated_at: "t",
    archived_at: null,
  };
}

function parts(given: { agent?: object; environment?: EnvironmentConfig; session?: object }) {
  const params = SessionCreateParams.parse({
    agent: "agent_1",
    environment_id: "env_1",
    ...given.session,
  });
  const environment = given.environment ?? newEnvironment({ name: "e" }).config;
  return unsupportedParts(overriddenAgent(agent(given.agent ?? {})), environment, params);
}

function toolset(fields: object) {
  return { tools: [{ type: "agent_toolset_20260401", ...fields }] };
}
const ask = { type: "always_ask" };

function cloud(config: object): EnvironmentConfig {
  return newEnvironment({ name: "e", config: { type: "cloud", ...config } }).config;
}

describe("what cannot be honoured is named", () => {
  test.each<[string, Parameters<typeof parts>[0], string[]]>([
    [
      "delegation",
      { agent: { multiagent: { type: "multiagent_20261001" } } },
      ["agent.multiagent of type multiagent_20261001"],
    ],
    [
      "a coordinator",
      { agent: { multiagent: { type: "coordinator", agents: [{ type: "self" }] } } },
      ["agent.multiagent of type coordinator"],
    ],
    [
      "a region",
      { agent: { model: { id: "m", inference_geo: "us" } } },
      ["agent.model.inference_geo"],
    ],
    [
      "another identity",
      { agent: { execution_identity: { type: "aws_role", role_arn: "arn" } } },
      ["agent.execution_identity of type aws_role"],
    ],
    [
      "a customer's workers",
      { environment: { type: "self_hosted" } },
      ["an environment of type self_hosted"],
    ],
    [
      "an outcome",
      {
        session: {
          initial_events: [
            {
              type: "user.define_outcome",
              description: "d",
              rubric: { type: "text", content: "r" },
            },
          ],
        },
      },
      ["initial_events.0 of type user.define_outcome"],
    ],
    [
      "several at once",
      {
        agent: { model: { id: "m", inference_geo: "us" } },
        environment: { type: "self_hosted" },
      },
      ["agent.model.inference_geo", "an environment of type self_hosted"],
    ],
  ])("%s", (_, given, expected) => {
    expect(parts(given)).toEqual(expected);
  });
});

describe("what is harmless runs", () => {
  const off = { type: "disabled" };
  test.each<[string, Parameters<typeof parts>[0]]>([
    ["the plain toolset", { agent: toolset({}) }],
    [
      "a question before a tool",
      { agent: toolset({ configs: [{ name: "bash", permission_policy: ask }] }) },
    ],
    [
      "a judge before every tool",
      { agent: toolset({ default_config: { permission_policy: { type: "auto" } } }) },
    ],
    [
      "an MCP toolset",
      {
        agent: {
          tools: [{ type: "mcp_toolset", mcp_server_name: "s" }],
          mcp_servers: [{ type: "url", name: "s", url: "https://h" }],
        },
      },
    ],
    [
      "a custom tool",
      {
        agent: {
          tools: [
            { type: "custom", name: "t", description: "d", input_schema: { type: "object" } },
          ],
        },
      },
    ],
    [
      "a question before a tool that is off, or that is never offered",
      {
        agent: toolset({
          configs: [
            { name: "bash", enabled: false, permission_policy: ask },
            { name: "web_fetch", permission_policy: ask },
          ],
        }),
      },
    ],
    [
      "delegation that is off",
      {
        agent: { multiagent: { type: "multiagent_20261001", subagents: off, workflows: off } },
      },
    ],
    [
      "limited networking, for there is none at all",
      { environment: cloud({ networking: { type: "limited", allowed_hosts: ["a.b"] } }) },
    ],
    ["no events", { session: { initial_events: [] } }],
    [
      "what a session can do without",
      {
        session: {
          vault_ids: ["vlt_1"],
          resources: [
            { type: "github_repository", url: "https://github.com/a/b" },
            { type: "memory_store", memory_store_id: "memstore_1" },
          ],
        },
      },
    ],
  ])("%s", (_, given) => {
    expect(parts(given)).toEqual([]);
  });
});
