import Anthropic, {
  APIConnectionError,
  APIError,
  BadRequestError,
  NotFoundError,
} from "@anthropic-ai/sdk";
import type { Random } from "@drover/testing";
import { brokenRules, type Sent } from "./checks.ts";
import { sleep, until } from "./processes.ts";
import { type Disk, readSession, type SessionSnapshot } from "./snapshot.ts";
import { type Message, type ModelId, newTurn } from "./turns.ts";

/** What is read has to be allowed by the client, and what is written by a judge. */
const TOOLSET = {
  type: "agent_toolset_20260401" as const,
  configs: [
    { name: "read" as const, permission_policy: { type: "always_ask" as const } },
    { name: "write" as const, permission_policy: { type: "auto" as const } },
  ],
};
const PAUSE_MS = 100;
const TURNS_MAX = 4;
const REST_MS = 5_000;

export interface TalkerOptions {
  readonly name: string;
  readonly model: ModelId;
  readonly disk: Disk;
  readonly apiKey: string;
  /** Where the server is at the moment. */
  readonly url: () => string;
  /** For one request to be answered, in milliseconds. */
  readonly requestMs: number;
  /** For anything to happen at all, in milliseconds. */
  readonly patienceMs: number;
  readonly random: Random;
  /** Aborted when no further turn is to be started. */
  readonly enough: AbortSignal;
}

/** What a talker has done and seen; sentences of what it should not have seen. */
export interface Talk {
  readonly sessions: string[];
  readonly deleted: string[];
  readonly sent: Sent[];
  readonly broken: string[];
  /** What was left of each deleted session at its end. */
  readonly snapshots: SessionSnapshot[];
  turns: number;
  interrupts: number;
}

/** A client by the official SDK that talks with one session after another, one turn after another. */
export class Talker {
  readonly talk: Talk = {
    sessions: [],
    deleted: [],
    sent: [],
    broken: [],
    snapshots: [],
    turns: 0,
    interrupts: 0,
  };
  readonly #options: TalkerOptions;
  readonly #name: string;
  #isBusy = false;
  readonly #clients = new Map<string, Anthropic>();

  constructor(options: TalkerOptions) {
    this.#options = options;
    this.#name = options.name;
  }

  /** Resolves when the last turn has ended; rejects if something never does. */
  async run(): Promise<void> {
    const { random, enough } = this.#options;
    const agent = await this.#agent();
    while (!enough.aborted) {
      const sessionId = await this.#session(agent);
      const turns = random.int(1, TURNS_MAX);
      for (let turn = 0; turn < turns && !enough.aborted; turn += 1) await this.#turn(sessionId);
      if (!enough.aborted && random.next() < 0.6) await this.#delete(sessionId);
    }
  }

  /** In the middle of a turn. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  get #client(): Anthropic {
    const { url, apiKey, requestMs: timeout } = this.#options;
    const baseURL = url();
    const known = this.#clients.get(baseURL);
    const client = known ?? new Anthropic({ baseURL, apiKey, timeout, logLevel: "off" });
    this.#clients.set(baseURL, client);
    return client;
  }

  async #agent(): Promise<{ agent: string; environment_id: string }> {
    const { model } = this.#options;
    const name = this.#name;
    const text = `---\nname: ${name}\ndescription: Says hello.\n---\nSay hello.\n`;
    const skill = await this.#persist((client) =>
      client.beta.skills.create({ files: [new File([text], `${name}/SKILL.md`)] }),
    );
    const agent = await this.#persist((client) =>
      client.beta.agents.create({
        name,
        model,
        tools: [TOOLSET],
        skills: [{ type: "custom", skill_id: skill.id }],
      }),
    );
    let attempt = 0;
    // Names are unique: one that is taken was made by an attempt whose answer was lost.
    const environment = await this.#persist((client) =>
      client.beta.environments.create({ name: `${name}-${attempt++}` }),
    );
    return { agent: agent.id, environment_id: environment.id };
  }

  async #session(of: { agent: string; environment_id: string }): Promise<string> {
    // A title of its own: a retry is known by its body, and must not pass for that of an earlier one.
    const title = `${this.#name}s${this.talk.sessions.length}`;
    const { id } = await this.#persist((client) => client.beta.sessions.create({ ...of, title }));
    this.talk.sessions.push(id);
    return id;
  }

  async #turn(sessionId: string): Promise<void> {
    const { model, random } = this.#options;
    this.talk.turns += 1;
    const turn = newTurn(`${this.#name}t${this.talk.turns}`, model, random);
    this.#isBusy = true;
    for (const message of turn.messages) await this.#send(sessionId, message);
    if (turn.interruptMs !== undefined) {
      await sleep(turn.interruptMs);
      await this.#interrupt(sessionId);
    }
    await this.#idle(sessionId);
    this.#isBusy = false;
  }

  /** One attempt, with the SDK's own retries; what it says is written down. */
  async #send(sessionId: string, { mark, text, afterMs }: Message): Promise<void> {
    await sleep(afterMs);
    let eventId: string | undefined;
    try {
      const answer = await this.#client.beta.sessions.events.send(sessionId, {
        events: [{ type: "user.message", content: [{ type: "text", text }] }],
      });
      eventId = answer.data?.[0]?.id;
      if (eventId === undefined) this.talk.broken.push(`${sessionId}: ${mark} was sent, no event`);
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    this.talk.sent.push({ sessionId, mark, eventId });
  }

  async #interrupt(sessionId: string): Promise<void> {
    this.talk.interrupts += 1;
    await this.#persist((client) =>
      client.beta.sessions.events.send(sessionId, { events: [{ type: "user.interrupt" }] }),
    );
  }

  /** Waits until the turn has ended. A message shows the session as running when it is accepted. */
  async #idle(sessionId: string): Promise<void> {
    const { patienceMs } = this.#options;
    const endMs = Date.now() + patienceMs;
    while (Date.now() < endMs) {
      const { status } = await this.#persist((client) => client.beta.sessions.retrieve(sessionId));
      if (status === "idle") {
        const waiting = await this.#waitingCalls(sessionId);
        if (waiting.length === 0) return;
        await this.#allow(sessionId, waiting);
      }
      await sleep(PAUSE_MS);
    }
    throw new Error(`${sessionId} is stuck: it is not idle after ${patienceMs} ms`);
  }

  /** The calls that the session, which is idle, waits for. */
  async #waitingCalls(sessionId: string): Promise<readonly string[]> {
    const types = ["session.status_idle" as const];
    const page = await this.#persist((client) =>
      client.beta.sessions.events.list(sessionId, { types, order: "desc", limit: 1 }),
    );
    const [last] = page.data;
    if (last?.type !== "session.status_idle") return [];
    return last.stop_reason.type === "requires_action" ? last.stop_reason.event_ids : [];
  }

  async #allow(sessionId: string, callIds: readonly string[]): Promise<void> {
    const events = callIds.map((id) => {
      return { type: "user.tool_confirmation" as const, tool_use_id: id, result: "allow" as const };
    });
    try {
      await this.#persist((client) => client.beta.sessions.events.send(sessionId, { events }));
    } catch (error) {
      // An attempt whose answer was lost has counted, or an interrupt was taken up first.
      if (!(error instanceof BadRequestError)) throw error;
    }
  }

  /** Checked before, because nothing is left of it afterwards. */
  async #delete(sessionId: string): Promise<void> {
    const { disk } = this.#options;
    const sent = this.talk.sent.filter((message) => message.sessionId === sessionId);
    let snapshot = await readSession(disk, sessionId);
    // The driver may be about to let go of it.
    await until(async () => {
      snapshot = await readSession(disk, sessionId);
      return brokenRules(snapshot, sent).length === 0;
    }, REST_MS);
    this.talk.snapshots.push(snapshot);
    this.talk.broken.push(...brokenRules(snapshot, sent));
    try {
      await this.#persist((client) => client.beta.sessions.delete(sessionId));
    } catch (error) {
      // An attempt whose answer was lost has deleted it.
      if (!(error instanceof NotFoundError)) throw error;
    }
    this.talk.deleted.push(sessionId);
  }

  /** Asks again for as long as the server may be dead. */
  async #persist<T>(ask: (client: Anthropic) => Promise<T>): Promise<T> {
    const { patienceMs } = this.#options;
    const endMs = Date.now() + patienceMs;
    for (;;) {
      try {
        return await ask(this.#client);
      } catch (error) {
        if (!isPassing(error)) throw error;
        if (Date.now() > endMs) {
          throw new Error(`the server does not answer for ${patienceMs} ms`, { cause: error });
        }
      }
      await sleep(PAUSE_MS);
    }
  }
}

/** Nobody answered, or a server that is starting, stopping or out of its store. */
function isPassing(error: unknown): boolean {
  if (error instanceof APIConnectionError) return true;
  return error instanceof APIError && typeof error.status === "number" && error.status >= 500;
}
