import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { answer, Random, toolCall } from "@drover/testing";
import { expect, test } from "vitest";
import {
  Conversation,
  type Listening,
  resultsOf,
  type SessionEvent,
} from "./support/conversation.ts";
import { handsPid, OPEN_WORKSPACES, sandboxPids } from "./support/host.ts";
import { answersOf, CHECK, PAGE_BYTES, type Round, roundOf } from "./support/kill-rounds.ts";
import { script } from "./support/last-words.ts";
import {
  release,
  SandboxTarget,
  type Struck,
  survivorsOf,
  type Victim,
} from "./support/sandbox-target.ts";
import { until } from "./support/until.ts";
import { useWorld, type World } from "./support/world.ts";

const KILLS = Number(process.env["SANDBOX_KILLS"] ?? 200);
const SEED = Number(process.env["SANDBOX_KILLS_SEED"] ?? Date.now() % 1_000_000);
const SESSIONS = 8;
/** A kill comes within this share of what a round took before, so that some come after its end. */
const SPREAD = 1.1;
/** A kill in the making of a sandbox needs one before, for that it is made. */
const PROVISION_SHARE = 0.2;
const PROVISION_MS = 80;
const CALL_MS = 150;
const LOOK_MS = 10;
/** Connections between server and hands come and go. */
const DESCRIPTORS_SLACK = 10;

const DIED = /^The sandbox died while \w+ ran \(.+\): the outcome is unknown\. The next call gets/;
const NOT_RUN =
  /^The call was not run(: the sandbox has died since the last call|, because no sandbox could be had)/;
const NOT_HAD = /^The call was not run, because no sandbox could be had/;
const SHELL_DIED = /The shell was killed by a signal; the next command gets a new shell\.$/;
const SHELL_LOST = /^The command was not run: the shell has ended since the last command/;

const world = useWorld(OPEN_WORKSPACES);

test(`${KILLS} kills of sandboxes at random moments: one tool error each, and all goes on`, {
  timeout: 60_000 + KILLS * 2_000,
}, async () => {
  process.stdout.write(`SANDBOX_KILLS_SEED=${SEED} SANDBOX_KILLS=${KILLS}\n`);
  // What a first sandbox opens in the hands for good is not to be taken for something left over.
  await (await Session.open(world(), "warm", new Random(SEED))).close();
  const before = descriptorsOf(world());
  const counts = Array.from({ length: SESSIONS }, (_, lane) =>
    Math.ceil((KILLS - lane) / SESSIONS),
  ).filter((count) => count > 0);
  const tallies = await Promise.all(
    counts.map(async (count, lane) => {
      const session = await Session.open(world(), `lane${lane}`, new Random(SEED + lane));
      while (session.tally.length < count) await session.round(count - session.tally.length);
      await session.close();
      return session.tally;
    }),
  );
  const tally = Map.groupBy(tallies.flat(), (what) => what);
  const lines = [...tally].map(([what, found]) => `${String(found.length).padStart(4)} ${what}\n`);
  process.stdout.write(lines.sort().join(""));
  expect(tallies.flat()).toHaveLength(KILLS);
  await until("the end of all sandboxes", () => sandboxPids(world()).length === 0 || undefined);
  const folders = () => readdirSync(join(world().data, "hands"));
  await until("the end of all workspaces", () => folders().length === 0 || undefined);
  await until(
    () => `the descriptors of the dead: ${descriptorsOf(world())}, and ${before} at first`,
    () => descriptorsOf(world()) <= before + DESCRIPTORS_SLACK || undefined,
  );
});

interface SessionParts {
  readonly talk: Conversation;
  readonly heard: Listening;
  readonly target: SandboxTarget;
  readonly name: string;
  readonly random: Random;
}

/** A session whose sandbox is struck once a round. */
class Session {
  /** How each strike was told. */
  readonly tally: string[] = [];
  readonly #talk: Conversation;
  /** Read as it grows: to ask for a history of many megabytes again and again takes longer than the kills. */
  readonly #heard: Listening;
  readonly #target: SandboxTarget;
  readonly #random: Random;
  readonly #name: string;
  readonly #struck: Struck[] = [];
  #rounds = 0;
  #turns = 1;
  #seen = 0;
  #roundMs = 600;

  private constructor({ talk, heard, target, name, random }: SessionParts) {
    this.#talk = talk;
    this.#heard = heard;
    this.#seen = heard.events.length;
    this.#target = target;
    this.#name = name;
    this.#random = random;
  }

  static async open(of: World, name: string, random: Random): Promise<Session> {
    const talk = await Conversation.open(of);
    const heard = await talk.listen();
    const command = `echo ${name} > name; echo ${name} > name-${name}; echo state > state; echo 0 > log; printf %${PAGE_BYTES}s | tr ' ' a > page`;
    await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
    await heard.event(({ type }) => type === "session.status_idle");
    const target = SandboxTarget.find(of, `name-${name}`);
    if (target === undefined) throw new Error(`there is no workspace of ${name}`);
    return new Session({ talk, heard, target, name, random });
  }

  /** One kill, or more if there may be so many. */
  async round(kills: number): Promise<void> {
    this.#rounds += 1;
    if (kills > 1 && this.#random.chance(PROVISION_SHARE)) await this.#roundOfProvision(kills);
    else await this.#roundOfCalls();
  }

  /** Killed between two turns, and its successors while they are made. */
  async #roundOfProvision(kills: number): Promise<void> {
    const context = `${this.#name}, round ${this.#rounds}: while it is made`;
    const before = this.#notMade();
    const dead: Struck[] = [];
    const survivors = () => dead.flatMap(survivorsOf);
    const theirEnd = () =>
      until(
        () => `the end of ${JSON.stringify(dead)}: ${JSON.stringify(survivors())}`,
        () => survivors().length === 0 || undefined,
      );
    // None is there if the last one was killed under the last call of its turn.
    if (this.#target.isAlive()) {
      dead.push(await this.#strike("all"));
      await theirEnd();
    }
    const successors = Math.min(kills - dead.length, this.#random.int(1, 2));
    const calls = Array.from({ length: dead.length + successors + 1 }, () => answer(CHECK));
    let isOver = false;
    const turn = this.#turn(script(...calls, answer("done"))).finally(() => {
      isOver = true;
    });
    for (let struck = 0; struck < successors; struck += 1) {
      const delayMs = this.#random.next() * PROVISION_MS;
      const found = await this.#strikeBefore(() => isOver, "one", delayMs);
      // The one before may have come when the turn was over: then nobody makes another.
      if (found === undefined) break;
      dead.push(found);
    }
    const errors = (await turn).filter(({ isError }) => isError).map(({ text }) => text);
    await theirEnd();
    this.#struck.push(...dead);
    const inVain = this.#notMade() - before - errors.filter((text) => NOT_HAD.test(text)).length;
    if (errors.length + inVain < dead.length) errors.push(await this.#afterwards(context));
    expect(errors.length + inVain, `${context}: ${inVain} in vain; ${errors}`).toBe(dead.length);
    for (const text of errors) {
      expect(text, context).toMatch(patternOf("one"));
      this.tally.push(`sandbox killed, between turns and while it was made: ${kindOf([text])}`);
    }
    const untold = "sandbox killed while it was made to look after the dead one's outputs";
    this.tally.push(...Array.from({ length: inVain }, () => untold));
  }

  /**
   * How many of its sandboxes died before they were ready. One that no call asked for, but that the hands
   * made to take what a dead one left, dies untold: the call that tells of the first death has told all.
   */
  #notMade(): number {
    const log = readFileSync(join(world().data, "hands.log"), "utf8").split("\n");
    return log.filter(
      (line) => line.includes('"sandbox_not_made"') && line.includes(this.#target.handId),
    ).length;
  }

  async #roundOfCalls(): Promise<void> {
    const round = roundOf(this.#random, this.#rounds);
    const victim = this.#random.pick<Victim>(["one", "one", "one", "all", "shell"]);
    const startMs = performance.now();
    const turn = this.#turn(script(...answersOf(round)));
    const strike = this.#random.chance(0.5)
      ? this.#strike(victim, this.#random.next() * SPREAD * this.#roundMs)
      : this.#nextCall().then(() => this.#strike(victim, this.#random.next() * CALL_MS));
    const [struck, results] = await Promise.all([strike, turn]);
    this.#roundMs = (3 * this.#roundMs + performance.now() - startMs) / 4;
    const errors = results.filter(({ isError }) => isError).map(({ text }) => text);
    const context = `${this.#name}, round ${this.#rounds}: ${round.name}, ${struck.victim} killed`;
    expect(errors.length, `${context}: ${errors}`).toBeLessThanOrEqual(
      victim === "shell" ? 1 : round.calls.length,
    );
    const told = errors.length > 0 ? "told by it" : "told by the next";
    if (errors.length === 0) errors.push(await this.#afterwards(context));
    for (const text of errors) expect(text, context).toMatch(patternOf(struck.victim));
    this.tally.push(
      `${struck.victim === "shell" ? "shell" : "sandbox"} killed, ${told}: ${kindOf(errors)}`,
    );
    this.#judgeFiles(round, results, context);
    // Its sandbox lives on, and is none of those that must be gone.
    if (struck.victim === "shell") return release(struck);
    expect(survivorsOf(struck), context).toEqual([]);
    this.#struck.push(struck);
  }

  async close(): Promise<void> {
    await this.#heard.close();
    expect(this.#heard.events.filter(({ type }) => type === "session.error")).toEqual([]);
    expect(this.#struck.flatMap(survivorsOf)).toEqual([]);
    this.#struck.forEach(release);
    await world().client.beta.sessions.delete(this.#talk.id);
  }

  /** Killed after the last call of a turn: the next call says so, once. */
  async #afterwards(context: string): Promise<string> {
    const [first, second] = await this.#turn(script(answer(CHECK), answer(CHECK), answer("done")));
    expect([first?.isError, second], context).toEqual([
      true,
      { text: `${this.#name}\n/workspace`, isError: false },
    ]);
    return first?.text ?? "";
  }

  /** Once it is in the log, it is carried out at once. */
  async #nextCall(): Promise<void> {
    const { events } = this.#heard;
    const calls = () => events.filter(({ type }) => type === "agent.tool_use").length;
    const before = calls();
    await until("a call", () => calls() > before || undefined);
  }

  /** The sandbox that is there, once the time is over, or else the next one as soon as it begins to be. */
  async #strike(victim: Victim, delayMs = 0): Promise<Struck> {
    const struck = await this.#strikeBefore(() => false, victim, delayMs);
    if (struck === undefined) throw new Error("nothing was there to kill");
    return struck;
  }

  /** The same; undefined if it is over and there is none. */
  async #strikeBefore(
    isOver: () => boolean,
    victim: Victim,
    delayMs: number,
  ): Promise<Struck | undefined> {
    await pause(delayMs);
    const { struck } = await until("something to kill", async () => {
      const endMs = performance.now() + 20;
      while (performance.now() < endMs) {
        const isLast = isOver();
        const struck = this.#target.strike(victim, (pids) => this.#random.pick(pids));
        if (struck !== undefined || isLast) return { struck };
        await pause(LOOK_MS);
      }
      return undefined;
    });
    return struck;
  }

  async #turn(text: string): Promise<readonly { text: string; isError: boolean }[]> {
    await this.#talk.say(text);
    this.#turns += 1;
    const events = this.#heard.events;
    await until(`the end of turn ${this.#turns} of ${this.#name}`, () => {
      const ends = events.filter(({ type }) => type === "session.status_idle");
      return ends.length >= this.#turns || undefined;
    });
    const own = resultsOf(events.slice(this.#seen) as SessionEvent[]);
    this.#seen = events.length;
    return own;
  }

  /** As they were, but for what the calls that ran have done. */
  #judgeFiles(
    round: Round,
    results: readonly { text: string; isError: boolean }[],
    context: string,
  ): void {
    const read = (file: string) => readFileSync(join(this.#target.workspace, file), "utf8");
    expect(read("name"), context).toBe(`${this.#name}\n`);
    expect(read("state"), context).toBe("state\n");
    expect(read("page"), context).toMatch(/^(.)\1*$/s);
    expect(read("page").length, context).toBe(PAGE_BYTES);
    const halves = readdirSync(this.#target.workspace).filter((name) => name.startsWith(".drover"));
    expect(halves, context).toEqual([]);
    const command = JSON.stringify(round.calls[0]).includes(`${this.#rounds} begun`);
    if (!command) return;
    const lines = existsSync(join(this.#target.workspace, "log")) ? read("log").split("\n") : [];
    const own = lines.filter((line) => line.startsWith(`${this.#rounds} `));
    // Results come in the order in which the calls ended.
    const error = results.slice(0, round.calls.length).find(({ isError }) => isError)?.text;
    const isUntouched = error !== undefined && isNotRun(error) && round.calls.length === 1;
    const allowed = error === undefined ? [2] : isUntouched ? [0] : [0, 1, 2];
    expect(allowed, `${context}: ${error}: ${own}`).toContain(own.length);
  }
}

function patternOf(victim: Victim): RegExp {
  const parts = victim === "shell" ? [SHELL_DIED, SHELL_LOST] : [DIED, NOT_RUN];
  return new RegExp(parts.map(({ source }) => source).join("|"));
}

function isNotRun(text: string): boolean {
  return NOT_RUN.test(text) || SHELL_LOST.test(text);
}

function kindOf(errors: readonly string[]): string {
  const [text = ""] = errors;
  const count = errors.length > 1 ? ` (${errors.length} calls)` : "";
  if (DIED.test(text)) return `died under the call${count}`;
  if (SHELL_DIED.test(text)) return `shell died under the call${count}`;
  if (SHELL_LOST.test(text)) return `shell lost since the last${count}`;
  return `${NOT_RUN.exec(text)?.[1]?.slice(2) ?? "?"}${count}`;
}

function descriptorsOf(of: World): number {
  return readdirSync(`/proc/${handsPid(of)}/fd`).length;
}
