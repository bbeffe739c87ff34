import type Anthropic from "@anthropic-ai/sdk";
import type { Target } from "../target.ts";

type Beta = Anthropic["beta"];
type AgentParams = Parameters<Beta["agents"]["create"]>[0];
type EnvironmentParams = Parameters<Beta["environments"]["create"]>[0];
type SessionParams = Parameters<Beta["sessions"]["create"]>[0];
type Made<Make extends (...args: never) => unknown> = Awaited<ReturnType<Make>>;

export type Agent = Made<Beta["agents"]["create"]>;
export type Environment = Made<Beta["environments"]["create"]>;
export type Session = Made<Beta["sessions"]["create"]>;

export async function newAgent(t: Target, params: Partial<AgentParams> = {}): Promise<Agent> {
  return await t.client.beta.agents.create({ name: t.unique("agent"), model: t.model, ...params });
}

export async function newEnvironment(
  t: Target,
  params: Partial<EnvironmentParams> = {},
): Promise<Environment> {
  return await t.client.beta.environments.create({ name: t.unique("environment"), ...params });
}

/** With an agent and an environment that all sessions of the run share, unless told. */
export async function newSession(t: Target, params: Partial<SessionParams> = {}): Promise<Session> {
  const agent = params.agent ?? (await sharedAgent(t)).id;
  const environment_id = params.environment_id ?? (await sharedEnvironment(t)).id;
  return await t.client.beta.sessions.create({ ...params, agent, environment_id });
}

/** Has the built-in tools. Never changed by a scenario. */
export function sharedAgent(t: Target): Promise<Agent> {
  return t.shared("agent", () => newAgent(t, { tools: [{ type: "agent_toolset_20260401" }] }));
}

/** Never changed by a scenario. */
export function sharedEnvironment(t: Target): Promise<Environment> {
  return t.shared("environment", () => newEnvironment(t));
}
