import type Anthropic from "@anthropic-ai/sdk";
import type { BetaManagedAgentsSessionEvent } from "@anthropic-ai/sdk/resources/beta/sessions/events";

export interface FinishedTurn {
  readonly sessionId: string;
  readonly events: readonly BetaManagedAgentsSessionEvent[];
}

/** Makes an agent with the built-in tools, gives it one message and waits until the turn has ended. */
export async function runOneTurn(
  client: Anthropic,
  options: { model: string; text: string },
): Promise<FinishedTurn> {
  const agent = await client.beta.agents.create({
    name: "worker",
    model: options.model,
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: `env-${agent.id}` });
  const session = await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
  });
  const stream = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, {
    events: [{ type: "user.message", content: [{ type: "text", text: options.text }] }],
  });
  for await (const event of stream) {
    if (event.type === "session.status_idle") break;
  }
  const events: BetaManagedAgentsSessionEvent[] = [];
  for await (const event of client.beta.sessions.events.list(session.id, { limit: 1000 })) {
    events.push(event);
  }
  return { sessionId: session.id, events };
}

/** The text blocks of events of one type, joined. */
export function textsOf(
  events: readonly BetaManagedAgentsSessionEvent[],
  type: "agent.message" | "agent.tool_result",
): string {
  const texts: string[] = [];
  for (const event of events) {
    if (event.type !== type) continue;
    for (const block of event.content ?? []) if (block.type === "text") texts.push(block.text);
  }
  return texts.join("\n");
}
