import type Anthropic from "@anthropic-ai/sdk";
import type {
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from "@anthropic-ai/sdk/resources/beta/sessions/events";
import { MODEL_ID } from "./model.ts";
import { isTextOf, type Turn, textOf } from "./turn.ts";

export type StreamEvent = BetaManagedAgentsStreamSessionEvents;

/** What a user does with a server, through the official SDK. */
export interface Sessions {
  create(): Promise<string>;
  /** Resolves once the server has sent the stream's headers; `withDeltas` shows messages in the making. */
  stream(id: string, withDeltas?: boolean): Promise<EventStream>;
  send(id: string, turn: Turn): Promise<void>;
  delete(id: string): Promise<void>;
  /** The newest events, newest first. */
  latest(id: string, limit: number): Promise<readonly BetaManagedAgentsSessionEvent[]>;
}

export type EventStream = AsyncIterable<StreamEvent> & { readonly controller: AbortController };

/** Makes an agent with the built-in tools and an environment, for any number of sessions. */
export async function openSessions(client: Anthropic): Promise<Sessions> {
  const agent = await client.beta.agents.create({
    name: "benchmark",
    model: MODEL_ID,
    system: "You are measured.",
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const environment = await client.beta.environments.create({ name: `environment of ${agent.id}` });
  const { events } = client.beta.sessions;
  return {
    create: async () => {
      const params = { agent: agent.id, environment_id: environment.id };
      return (await client.beta.sessions.create(params)).id;
    },
    stream: (id, withDeltas = false) =>
      events.stream(id, withDeltas ? { event_deltas: ["agent.message"] } : {}),
    send: async (id, turn) => {
      const text = textOf(turn);
      await events.send(id, {
        events: [{ type: "user.message", content: [{ type: "text", text }] }],
      });
    },
    delete: async (id) => {
      await client.beta.sessions.delete(id);
    },
    latest: async (id, limit) => (await events.list(id, { order: "desc", limit })).data,
  };
}

/**
 * Shows each event of the turn that the message with that label begins, until it ends. Rejects if the
 * turn goes wrong or the stream ends before.
 */
export async function untilIdle(
  stream: AsyncIterable<StreamEvent>,
  label: string,
  see: (event: StreamEvent) => void = () => undefined,
): Promise<void> {
  let hasBegun = false;
  for await (const event of stream) {
    // A stream may begin with the end of the turn before.
    hasBegun ||= isMessage(event, label);
    if (!hasBegun) continue;
    see(event);
    if (event.type === "session.error") throw new Error(`a turn failed: ${event.error.message}`);
    // Leaving the loop also closes the connection.
    if (event.type === "session.status_idle") return;
  }
  throw new Error("a stream ended before its turn");
}

/** True for the message that begins the turn of that label. */
export function isMessage(event: StreamEvent, label: string): boolean {
  if (event.type !== "user.message") return false;
  return event.content.some((block) => block.type === "text" && isTextOf(block.text, label));
}

/** Sends one message and waits until the turn has ended. */
export async function runTurn(
  sessions: Sessions,
  id: string,
  turn: Turn,
  see?: (event: StreamEvent) => void,
): Promise<void> {
  const stream = await sessions.stream(id);
  const over = untilIdle(stream, turn.label, see);
  await sessions.send(id, turn);
  await over;
}
