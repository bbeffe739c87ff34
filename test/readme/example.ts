import Anthropic from "@anthropic-ai/sdk";

/** What the README shows, run by a test. Resolves to the session's id. */
export async function example(baseURL: string, apiKey: string, text: string): Promise<string> {
  // README: begin
  const client = new Anthropic({ baseURL, apiKey });
  const agent = await client.beta.agents.create({
    name: "helper",
    model: "offline/echo",
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: "here" });
  const session = await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
  });
  await client.beta.sessions.events.send(session.id, {
    events: [{ type: "user.message", content: [{ type: "text", text }] }],
  });
  // README: end
  return session.id;
}
