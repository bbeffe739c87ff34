import type Anthropic from "@anthropic-ai/sdk";
import type { AgentCreateParams } from "@anthropic-ai/sdk/resources/beta/agents/agents";
import type {
  BetaManagedAgentsSessionEvent as SessionEvent,
  BetaManagedAgentsStreamSessionEvents as StreamEvent,
} from "@anthropic-ai/sdk/resources/beta/sessions/events";
import type { SessionCreateParams } from "@anthropic-ai/sdk/resources/beta/sessions/sessions";
import { until } from "./until.ts";
import type { World } from "./world.ts";

export type { SessionEvent, StreamEvent };

export const MODEL = "claude-sonnet-4-6";

export type EventParams = Parameters<
  Anthropic["beta"]["sessions"]["events"]["send"]
>[1]["events"][number];

type SessionOptions = Omit<SessionCreateParams, "agent" | "environment_id"> & {
  /** The agent's; the built-in ones unless given. */
  readonly tools?: AgentCreateParams["tools"];
  readonly mcp_servers?: AgentCreateParams["mcp_servers"];
  /** The agent's; `MODEL` unless given. */
  readonly model?: string;
  readonly skills?: AgentCreateParams["skills"];
  readonly environment?: Parameters<Anthropic["beta"]["environments"]["create"]>[0]["config"];
  readonly environmentMetadata?: Record<string, string>;
};

/** One session of an agent with the built-in tools, as its user sees it. */
export class Conversation {
  readonly id: string;
  readonly #world: World;

  private constructor(world: World, id: string) {
    this.#world = world;
    this.id = id;
  }

  static async open(world: World, options: SessionOptions = {}): Promise<Conversation> {
    const { tools, mcp_servers, model, skills, ...others } = options;
    const { environment: config, environmentMetadata, ...rest } = others;
    const { client } = world;
    const agent = await client.beta.agents.create({
      name: "worker",
      model: model ?? MODEL,
      tools: tools ?? [{ type: "agent_toolset_20260401" }],
      ...(mcp_servers && { mcp_servers }),
      ...(skills && { skills }),
    });
    const environment = await client.beta.environments.create({
      name: `environment of ${agent.id}`,
      ...(config && { config }),
      ...(environmentMetadata && { metadata: environmentMetadata }),
    });
    const session = await client.beta.sessions.create({
      agent: agent.id,
      environment_id: environment.id,
      ...rest,
    });
    return new Conversation(world, session.id);
  }

  get #events() {
    return this.#world.client.beta.sessions.events;
  }

  async say(...texts: readonly string[]): Promise<void> {
    await this.#events.send(this.id, { events: texts.map(userMessage) });
  }

  /** Answers calls, or anything else that the client's types allow. */
  async send(...events: readonly EventParams[]): Promise<void> {
    await this.#events.send(this.id, { events: [...events] });
  }

  async interrupt(): Promise<void> {
    await this.#events.send(this.id, { events: [{ type: "user.interrupt" }] });
  }

  /** The whole history. */
  async history(): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    for await (const event of this.#events.list(this.id, { limit: 1000 })) events.push(event);
    return events;
  }

  /** The history once so many turns have ended. */
  async afterTurns(turns: number): Promise<SessionEvent[]> {
    return await until(`${turns} ended turns of ${this.id}`, async () => {
      const events = await this.history();
      return typesOf(events).filter((type) => type === "session.status_idle").length >= turns
        ? events
        : undefined;
    });
  }

  /** The first event of the history that is so. */
  async event<T extends SessionEvent>(isIt: (event: SessionEvent) => event is T): Promise<T>;
  async event(isIt: (event: SessionEvent) => boolean): Promise<SessionEvent>;
  async event(isIt: (event: SessionEvent) => boolean): Promise<SessionEvent> {
    return await until(`an event of ${this.id}`, async () => (await this.history()).find(isIt));
  }

  async status(): Promise<string> {
    return (await this.#world.client.beta.sessions.retrieve(this.id)).status;
  }

  /** Opens a stream and reads it from then on. */
  async listen(
    eventDeltas: readonly ("agent.message" | "agent.thinking")[] = [],
  ): Promise<Listening> {
    const stream = await this.#events.stream(this.id, { event_deltas: [...eventDeltas] });
    return new Listening(stream);
  }
}

/** What one stream has shown so far. */
export class Listening {
  readonly events: StreamEvent[] = [];
  readonly ended: Promise<void>;
  readonly #stream: AsyncIterable<StreamEvent> & { readonly controller: AbortController };

  constructor(stream: AsyncIterable<StreamEvent> & { readonly controller: AbortController }) {
    this.#stream = stream;
    // A server that is killed cuts its streams, which is no failure of the reader.
    this.ended = this.#read().catch(() => undefined);
  }

  /** The first event that is so, once it is there. */
  async event(isIt: (event: StreamEvent) => boolean): Promise<StreamEvent> {
    return await until("an event on the stream", async () => this.events.find(isIt));
  }

  async close(): Promise<void> {
    this.#stream.controller.abort();
    await this.ended;
  }

  async #read(): Promise<void> {
    for await (const event of this.#stream) this.events.push(event);
  }
}

export function userMessage(text: string) {
  return { type: "user.message" as const, content: [{ type: "text" as const, text }] };
}

export function typesOf(events: readonly { readonly type: string }[]): string[] {
  return events.map(({ type }) => type);
}

export function isType<T extends SessionEvent["type"]>(type: T) {
  return (event: SessionEvent): event is Extract<SessionEvent, { type: T }> => event.type === type;
}

/** The text of each result, in the order of the history, with whether it is an error. */
export function resultsOf(events: readonly SessionEvent[]): { text: string; isError: boolean }[] {
  return events.filter(isType("agent.tool_result")).map(({ content, is_error }) => ({
    text: textOf(content ?? []),
    isError: is_error === true,
  }));
}

/** The text of each of the agent's messages. */
export function messagesOf(events: readonly SessionEvent[]): string[] {
  return events.filter(isType("agent.message")).map(({ content }) => textOf(content));
}

function textOf(content: readonly { readonly type: string; readonly text?: unknown }[]): string {
  return content.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}
