import type { APIError } from "@anthropic-ai/sdk";
import type { Target } from "../target.ts";
import { refused } from "./expect.ts";
import type { Agent } from "./fixtures.ts";

type AgentParams = Parameters<Target["client"]["beta"]["agents"]["create"]>[0];
type UpdateParams = Parameters<Target["client"]["beta"]["agents"]["update"]>[1];

export const TOOLSET = "agent_toolset_20260401";
export const ALLOW = { type: "always_allow" };
export const ASK = { type: "always_ask" };

/** A new agent with any fields, also ones that the client's types forbid; undefined leaves one out. */
export async function agentWith(t: Target, fields: object): Promise<Agent> {
  const params = { name: t.unique("agent"), model: t.model, ...fields } as AgentParams;
  return await t.client.beta.agents.create(params);
}

/** Expects that no agent is made of these fields, with a 400 that names what is wrong. */
export async function noAgentWith(t: Target, fields: object, says: RegExp): Promise<APIError> {
  return await refused(agentWith(t, fields), { status: 400, type: "invalid_request_error", says });
}

export async function updated(t: Target, { id }: Agent, fields: object): Promise<Agent> {
  return await t.client.beta.agents.update(id, fields as UpdateParams);
}

/** Expects a 400 that names what is wrong, and the agent to stay as it is. */
export async function notUpdated(
  t: Target,
  agent: Agent,
  fields: object,
  says: RegExp,
): Promise<void> {
  await refused(updated(t, agent, fields), { status: 400, type: "invalid_request_error", says });
}

export function custom(name: string, fields: object = {}) {
  return { type: "custom", name, description: "d", input_schema: { type: "object" }, ...fields };
}

/** `tools` of the built-in toolset with one config. */
export function configured(config: object) {
  return [{ type: TOOLSET, configs: [config] }];
}

/** An MCP server and the toolset that uses it. */
export function connected(name: string, fields: object = {}) {
  return {
    mcp_servers: [{ type: "url", name, url: "https://mcp.example.com/mcp", ...fields }],
    tools: [{ type: "mcp_toolset", mcp_server_name: name }],
  };
}

/** `count` values made from 0, 1, 2 …. */
export function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Metadata of `count` pairs. */
export function pairs(count: number): Record<string, string> {
  return Object.fromEntries(many(count, (index) => [`key-${index}`, String(index)]));
}
