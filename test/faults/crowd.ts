import Anthropic from "@anthropic-ai/sdk";
import { Random } from "@drover/testing";
import { brokenRules, calls, endingOf, type Sent } from "./checks.ts";
import type { DeathRecord } from "./deaths.ts";
import { sleep, until } from "./processes.ts";
import { integrityOf, readSession, type SessionSnapshot } from "./snapshot.ts";
import { Talker } from "./talker.ts";
import type { ModelId } from "./turns.ts";
import type { World } from "./world.ts";

/** What came of all that was done in a world. */
export interface WorldResult {
  readonly sessions: number;
  readonly deleted: number;
  readonly turns: number;
  readonly interrupts: number;
  readonly messages: number;
  readonly unacknowledged: number;
  /** Calls by how they were answered. */
  readonly calls: Readonly<Record<string, number>>;
  readonly events: number;
  readonly lostRequests: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly broken: readonly string[];
  /** Kills of its processes. */
  readonly deaths: readonly DeathRecord[];
  /** Servers that were stopped, replaced and thawed. */
  readonly frozen: number;
  /** Those that held the store's own lock as they stopped, so that nobody could take their place. */
  readonly locked: number;
}

const MODELS: readonly ModelId[] = ["claude-opus-5-5", "offline/script"];
const AGAIN_MS = 3_000;
const REST_MS = 10_000;
const PAUSE_MS = 100;

export interface CrowdOptions {
  readonly size: number;
  readonly seed: number;
  readonly url: string;
  /** For one request to be answered, in milliseconds. */
  readonly requestMs: number;
}

/** Several clients at once, and the checks of what they have seen. */
export class Crowd {
  readonly #world: World;
  readonly #talkers: readonly Talker[];
  readonly #enough = new AbortController();
  readonly #done: Promise<PromiseSettledResult<void>[]>;
  #url = "";

  constructor(world: World, options: CrowdOptions) {
    this.#world = world;
    this.#url = options.url;
    this.#talkers = Array.from({ length: options.size }, (_, index) => {
      return new Talker({
        name: `w${world.name}c${index}`,
        model: MODELS[index % MODELS.length] ?? "offline/script",
        disk: world,
        apiKey: world.apiKey,
        url: () => this.#url,
        requestMs: options.requestMs,
        patienceMs: world.patienceMs,
        random: new Random(options.seed * 1_000 + index),
        enough: this.#enough.signal,
      });
    });
    this.#done = Promise.allSettled(this.#talkers.map((talker) => talker.run()));
  }

  get turns(): number {
    return this.#talkers.reduce((sum, { talk }) => sum + talk.turns, 0);
  }

  /** Clients that are in the middle of a turn. */
  get busy(): number {
    return this.#talkers.filter((talker) => talker.isBusy).length;
  }

  /** Where to find the server from now on. */
  moveTo(url: string): void {
    this.#url = url;
  }

  /** Lets the turns end, with a server that lives, and looks at everything that has come of them. */
  async finish(): Promise<WorldResult> {
    this.#enough.abort();
    const outcomes = await this.#done;
    const stuck = outcomes.flatMap((outcome) =>
      outcome.status === "rejected" ? [sentenceOf(outcome.reason)] : [],
    );
    const talks = this.#talkers.map(({ talk }) => talk);
    const deleted = new Set(talks.flatMap((talk) => talk.deleted));
    const kept = talks.flatMap((talk) => talk.sessions).filter((id) => !deleted.has(id));
    const sent = talks.flatMap((talk) => talk.sent);
    const snapshots = await this.#atRest(kept, sent);
    const broken = snapshots.flatMap((snapshot) =>
      brokenRules(snapshot, sentTo(sent, snapshot.id)),
    );
    const told = stuck.length > 0 ? [] : await this.#untold(snapshots);
    const late = await this.#late(snapshots);
    const integrity = await integrityOf(this.#world);
    const all = [...talks.flatMap((talk) => talk.snapshots), ...snapshots];
    return {
      sessions: kept.length + deleted.size,
      deleted: deleted.size,
      turns: this.turns,
      interrupts: talks.reduce((sum, talk) => sum + talk.interrupts, 0),
      messages: sent.length,
      unacknowledged: sent.filter(({ eventId }) => eventId === undefined).length,
      ...countsOf(all),
      deaths: [],
      frozen: 0,
      locked: 0,
      broken: [
        ...stuck,
        ...talks.flatMap((talk) => talk.broken),
        ...broken,
        ...told,
        ...late,
        ...(integrity === "ok" ? [] : [`the database is damaged: ${integrity}`]),
      ],
    };
  }

  /** Waits for the last drivers to let go; what is not at rest then is told by the rules. */
  async #atRest(
    ids: readonly string[],
    sent: readonly Sent[],
  ): Promise<readonly SessionSnapshot[]> {
    let snapshots: readonly SessionSnapshot[] = [];
    await until(
      async () => {
        snapshots = await Promise.all(ids.map((id) => readSession(this.#world, id)));
        return snapshots.every((one) => brokenRules(one, sentTo(sent, one.id)).length === 0);
      },
      REST_MS,
      PAUSE_MS,
    );
    return snapshots;
  }

  /** Nothing is written any more: no process of a call is left, whatever it was answered. */
  async #late(before: readonly SessionSnapshot[]): Promise<readonly string[]> {
    await sleep(AGAIN_MS);
    const after = await Promise.all(before.map(({ id }) => readSession(this.#world, id)));
    return before.flatMap(({ id, lines, lastSeq }, index) => {
      const again = after[index];
      if (again === undefined) return [];
      const grown = again.lines.length - lines.length;
      return [
        ...(grown === 0 ? [] : [`${id}: ${grown} lines were written after all was idle`]),
        ...(again.lastSeq === lastSeq ? [] : [`${id}: events came after all was idle`]),
      ];
    });
  }

  /** The list of the API shows what lies on the disk, in the same order. */
  async #untold(snapshots: readonly SessionSnapshot[]): Promise<readonly string[]> {
    const { apiKey } = this.#world;
    const client = new Anthropic({ baseURL: this.#url, apiKey, logLevel: "off" });
    const broken: string[] = [];
    for (const { id, events } of snapshots) {
      const listed: string[] = [];
      for await (const event of client.beta.sessions.events.list(id, { limit: 1_000 })) {
        listed.push(event.id);
      }
      const visible = events.filter(({ type }) => !type.startsWith("drover."));
      if (listed.join() !== visible.map((event) => event.id).join()) {
        broken.push(`${id}: the API lists ${listed.length} events, the log has ${visible.length}`);
      }
    }
    return broken;
  }
}

function sentTo(sent: readonly Sent[], sessionId: string): readonly Sent[] {
  return sent.filter((message) => message.sessionId === sessionId);
}

function countsOf(snapshots: readonly SessionSnapshot[]) {
  const events = snapshots.flatMap((snapshot) => snapshot.events);
  const ends = events.filter(({ type }) => type === "span.model_request_end");
  const errors = events.filter(({ type }) => type === "session.error");
  const endings = snapshots.flatMap((snapshot) => calls(snapshot.events).map(endingOf));
  return {
    calls: counted(endings),
    events: events.length,
    lostRequests: ends.filter(({ origin }) => origin["outcome"] === "lost").length,
    errors: counted(errors.map(({ body }) => messageOf(body))),
  };
}

export function counted(words: readonly string[]): Readonly<Record<string, number>> {
  const groups = Object.entries(Object.groupBy(words, (word) => word));
  return Object.fromEntries(groups.map(([word, list]) => [word, list?.length ?? 0]));
}

function messageOf(body: Readonly<Record<string, unknown>>): string {
  const { error } = body;
  const isTold = typeof error === "object" && error !== null && "message" in error;
  return isTold ? String(error.message).slice(0, 80) : "without a message";
}

function sentenceOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
