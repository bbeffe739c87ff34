import type { ClientEventParams } from "@drover/api";
import { Random } from "@drover/testing";
import { updateSession } from "../../app/sessions-update.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { EventWriter, SessionKey } from "../../core/ports/event-log.ts";
import { isToolUse } from "../../core/session/called-tool.ts";
import type { LogEvent, LogEventOf } from "../../core/session/log-event.ts";
import type { BrainWorld } from "../brain.ts";
import type { SessionPlan } from "./plan.ts";
import { budgetOf, PRICES } from "./prices.ts";

type NewInput = Parameters<EventWriter["accept"]>[1][number];

type Input =
  | Pick<LogEventOf<"user.message">, "type" | "public">
  | Pick<LogEventOf<"system.message">, "type" | "public">
  | typeof INTERRUPT;

export interface AcceptedInput {
  readonly id: string;
  readonly type: NewInput["type"];
  /** The order of arrival. */
  readonly arrival: number;
}

/** Whoever talks to a session: sends what its plan has, and what the world makes them send. Never dies. */
export class User {
  readonly #brain: BrainWorld;
  readonly #key: SessionKey;
  readonly #threadId: string;
  readonly #plan: SessionPlan;
  /** Called before a write that failed for want of room is tried again. */
  readonly #makeRoom: () => void;
  readonly #interrupts = new Set<string>();
  #turns = 0;
  #saidWhileWaiting = false;
  /** All that was accepted. */
  readonly accepted: AcceptedInput[] = [];

  constructor(
    brain: BrainWorld,
    session: { readonly key: SessionKey; readonly threadId: string },
    plan: SessionPlan,
    makeRoom: () => void,
  ) {
    this.#brain = brain;
    this.#key = session.key;
    this.#threadId = session.threadId;
    this.#plan = plan;
    this.#makeRoom = makeRoom;
  }

  /** What a session that waits for them gets from them next; false if they want nothing more. */
  async act(): Promise<boolean> {
    const log = await this.#brain.log(this.#key);
    const last = log.findLast(({ type }) => type === "session.status_idle");
    const reason = last?.type === "session.status_idle" ? last.public.stop_reason : undefined;
    if (reason?.type === "requires_action") {
      await this.#answer(callsOf(log, reason.event_ids));
      return true;
    }
    if (reason?.type === "budget_reached") {
      await this.#raise(log);
      return true;
    }
    const turn = this.#plan.turns[this.#turns];
    if (turn === undefined) return false;
    this.#turns += 1;
    const interrupt = turn.isInterrupted ? [INTERRUPT] : [];
    const system = turn.system === null ? [] : [systemMessage(turn.system)];
    await this.#send([...turn.opening.map(message), ...system, ...interrupt]);
    return true;
  }

  /** Answers some of the calls that wait, or none: the same ones whenever these calls wait. */
  async #answer(calls: readonly WaitingCall[]): Promise<void> {
    const random = new Random(this.#plan.seed + hashOf(calls.map(({ label }) => label).join()));
    if (random.chance(0.1)) return await this.interrupt();
    if (random.chance(0.15) && !this.#saidWhileWaiting) {
      this.#saidWhileWaiting = true;
      await this.say("while I think about it");
    }
    const answered = random.shuffled(calls).slice(0, random.int(1, calls.length));
    const events = answered.map((call) => answerTo(call, random));
    await this.#persist(() => this.#brain.post(this.#key, ...events));
  }

  /** Allows the session more, or all that it wants; may think of interrupting it instead. */
  async #raise(log: readonly LogEvent[]): Promise<void> {
    const usages = log.flatMap((event) => (event.type === "session.usage" ? [event.public] : []));
    const random = new Random(this.#plan.seed + log.filter(isUsers).length);
    if (random.chance(0.1)) return await this.interrupt();
    const consumed = Math.ceil(Number(usages.at(-1)?.usage.list_cost?.amount ?? 0));
    const budget = budgetOf(random.chance(0.2) ? null : consumed + random.int(1, 150));
    await this.#persist(() =>
      this.#brain.store.write((tx) =>
        updateSession(tx, this.#key, { params: { budget }, prices: PRICES }),
      ),
    );
  }

  async say(text: string): Promise<void> {
    const system = hashOf(text) % 5 === 0 ? [systemMessage(`mind ${text}`)] : [];
    await this.#send([message(text), ...system]);
  }

  async interrupt(): Promise<void> {
    await this.#send([INTERRUPT]);
  }

  /** Interrupts what is going on, once, however many processes come to the place that asks for it. */
  async interruptOnce(place: string): Promise<void> {
    if (this.#interrupts.has(place)) return;
    this.#interrupts.add(place);
    await this.interrupt();
  }

  async #send(inputs: readonly Input[]): Promise<void> {
    const drafts = inputs.map((input): NewInput => {
      const id = this.#brain.deps.newId("sevt");
      return { id, thread_id: this.#threadId, cross_posted: false, private: {}, ...input };
    });
    const accepted = await this.#persist(() =>
      this.#brain.store.write((tx) => tx.events.accept(this.#key, drafts)),
    );
    this.accepted.push(...accepted.map(({ id, type, arrival }) => ({ id, type, arrival })));
  }

  async #persist<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        this.#makeRoom();
      }
    }
  }
}

function isUsers({ type }: LogEvent): boolean {
  return type.startsWith("user.") || type === "session.updated";
}

interface WaitingCall {
  readonly id: string;
  readonly isClients: boolean;
  readonly label: string;
}

function callsOf(log: readonly LogEvent[], ids: readonly string[]): readonly WaitingCall[] {
  return log.flatMap((event) => {
    const isCall = isToolUse(event) || event.type === "agent.custom_tool_use";
    if (!isCall || !ids.includes(event.id)) return [];
    const isClients = event.type === "agent.custom_tool_use";
    return [{ id: event.id, isClients, label: JSON.stringify(event.public.input) }];
  });
}

function answerTo({ id, isClients, label }: WaitingCall, random: Random): ClientEventParams {
  if (isClients) {
    const content = [{ type: "text" as const, text: `the client looked at ${label}` }];
    const is_error = random.chance(0.2);
    return { type: "user.custom_tool_result", custom_tool_use_id: id, content, is_error };
  }
  const confirmation = { type: "user.tool_confirmation" as const, tool_use_id: id };
  if (random.chance(0.6)) return { ...confirmation, result: "allow" };
  return { ...confirmation, result: "deny", deny_message: `not ${label}` };
}

/** A number for a text (FNV-1a). */
export function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619);
  return hash >>> 0;
}

const INTERRUPT = { type: "user.interrupt", public: {} } as const;

function message(text: string): Input {
  return { type: "user.message", public: { content: [{ type: "text", text }] } };
}

function systemMessage(text: string): Input {
  return { type: "system.message", public: { content: [{ type: "text", text }] } };
}
