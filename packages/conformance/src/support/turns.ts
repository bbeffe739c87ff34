import assert from "node:assert/strict";
import type { BetaManagedAgentsSessionEvent } from "@anthropic-ai/sdk/resources/beta/sessions/events";
import type { Target } from "../target.ts";

export type SessionEvent = BetaManagedAgentsSessionEvent;

/** A user's message that tells a scripted model what to do: YAML steps, as the offline models have them. */
export function script(yaml: string): string {
  return `\`\`\`drover-script\n${yaml}\n\`\`\``;
}

export function message(text: string) {
  return { type: "user.message" as const, content: [{ type: "text" as const, text }] };
}

/** Sends a message on a stream that was opened before, and collects what comes until the turn ends. */
export async function runTurn(t: Target, sessionId: string, text: string): Promise<SessionEvent[]> {
  const { events } = t.client.beta.sessions;
  const stream = await events.stream(sessionId);
  await events.send(sessionId, { events: [message(text)] });
  const seen: SessionEvent[] = [];
  for await (const event of stream) {
    seen.push(event as SessionEvent);
    if (event.type === "session.status_idle") return seen;
  }
  assert.fail(`the stream ended before the turn did, after ${seen.map(({ type }) => type)}`);
}

/** The whole history, oldest first. */
export async function historyOf(t: Target, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of t.client.beta.sessions.events.list(sessionId, { limit: 1000 })) {
    events.push(event as SessionEvent);
  }
  return events;
}
