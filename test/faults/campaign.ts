import type { MessagesApi } from "@drover/testing";
import type { WorldResult } from "./crowd.ts";
import { runFrozenWorld } from "./frozen-world.ts";
import { clear, runKillWorld } from "./kill-world.ts";
import { type Death, deathOf, makeUp } from "./plan.ts";
import type { Program } from "./program.ts";
import { type BlockResult, brokenIn, unvisited } from "./tally.ts";
import { type Safeguard, World } from "./world.ts";

export interface CampaignOptions {
  readonly program: Program;
  readonly double: MessagesApi;
  readonly unsafe: Safeguard | undefined;
  /** Goes on until a rule is broken in these words; any unless given. */
  readonly sought: RegExp | undefined;
  readonly say: (text: string) => void;
  /** Makes a PostgreSQL database and tells its URL; undefined for SQLite. */
  readonly newDatabase: (() => Promise<string>) | undefined;
}

export interface CampaignRequest {
  readonly firstSeed: number;
  readonly lastSeed: number;
  /** No block is begun that would end after so many minutes; undefined for no bound. */
  readonly minutes: number | undefined;
  /** Blocks of an earlier run, which are not run again. */
  readonly done: readonly BlockResult[];
  readonly record: (block: BlockResult) => void;
}

/** Kills in one world. More make a world's logs long, fewer have it started and checked too often. */
const BLOCK = 40;
const UNSAFE_BLOCK = 16;
/** Those who are killed and those who talk mostly wait. */
const AT_ONCE = 2;
/** Servers that freeze, one after another, in a world beside. */
const ROUNDS = 2;
const MAKE_UP_ROUNDS = 3;

export class Campaign {
  readonly #options: CampaignOptions;
  #refusals = 0;
  #count = 0;
  readonly #worlds = new Set<World>();

  constructor(options: CampaignOptions) {
    this.#options = options;
  }

  /** Takes away all that runs at the moment. */
  async abort(): Promise<void> {
    for (const world of this.#worlds) {
      world.close();
      await clear(world);
      world.remove();
    }
  }

  /** Runs what is not done yet, until something breaks or time is up. */
  async run(request: CampaignRequest): Promise<readonly BlockResult[]> {
    const { firstSeed, lastSeed, minutes = Infinity } = request;
    const endMs = Date.now() + minutes * 60_000;
    const blocks = [...request.done];
    const size = this.#options.unsafe === undefined ? BLOCK : UNSAFE_BLOCK;
    const { sought } = this.#options;
    const isBroken = () =>
      blocks.flatMap(brokenIn).some((broken) => sought === undefined || sought.test(broken));
    const add = async (block: BlockRequest) => {
      const made = await this.#block(block);
      blocks.push(made);
      request.record(made);
    };
    const isDone = (seed: number, last: number) =>
      request.done.some((one) => one.firstSeed <= seed && one.lastSeed >= last);
    const rest = blocksOf(firstSeed, lastSeed, size).filter(([seed, last]) => !isDone(seed, last));
    const work = async () => {
      for (;;) {
        if (isBroken() || Date.now() > endMs) return;
        const next = rest.shift();
        if (next === undefined) return;
        const [seed, last] = next;
        const seeds = Array.from({ length: last - seed + 1 }, (_, index) => seed + index);
        await add({ firstSeed: seed, lastSeed: last, deaths: seeds.map(deathOf) });
      }
    };
    const atOnce = this.#options.unsafe === undefined ? AT_ONCE : 1;
    await allOf(Array.from({ length: atOnce }, work));
    if (rest.length > 0) return blocks;
    for (let round = 0; round < MAKE_UP_ROUNDS; round += 1) {
      const missing = unvisited(blocks);
      if (missing.length === 0 || isBroken() || this.#options.unsafe !== undefined) break;
      this.#options.say(`Once more for ${missing.join(", ")}.`);
      await add({ firstSeed: lastSeed + 1, lastSeed, deaths: missing.map(makeUp) });
    }
    return blocks;
  }

  /** One world of kills and, beside it, one in which servers freeze. */
  async #block({ firstSeed, lastSeed, deaths }: BlockRequest): Promise<BlockResult> {
    const { double, say } = this.#options;
    const startMs = Date.now();
    const worlds = await allOf(this.#worldsOf({ firstSeed, lastSeed, deaths }));
    const refusals = double.refusals.slice(this.#refusals).map(({ message }) => message);
    this.#refusals = double.refusals.length;
    const ms = Date.now() - startMs;
    const block = { firstSeed, lastSeed, ms, worlds, refusals };
    const broken = brokenIn(block).length;
    const seconds = (ms / 1000).toFixed(1);
    say(
      `Seeds ${firstSeed} to ${lastSeed}: ${deaths.length} deaths, ${seconds} s, ${broken} broken.`,
    );
    return block;
  }

  /** Without a safeguard, only the deaths against which it is there: it must be missed at once. */
  #worldsOf({ firstSeed, lastSeed, deaths }: BlockRequest): readonly Promise<WorldResult>[] {
    const { unsafe, newDatabase } = this.#options;
    const freezing = () =>
      this.#inWorld((world) => runFrozenWorld(world, { seed: firstSeed, rounds: ROUNDS }));
    const killing = (some: readonly Death[]) => this.#inWorld((world) => runKillWorld(world, some));
    if (unsafe === "fence") return [freezing()];
    if (unsafe !== undefined) return [killing(deaths.filter(({ target }) => target === "serve"))];
    // On PostgreSQL a server that freezes keeps its leases until they run out, which takes too long here.
    const canFreeze = lastSeed >= firstSeed && newDatabase === undefined;
    return canFreeze ? [killing(deaths), freezing()] : [killing(deaths)];
  }

  /** The world is taken away, unless something is to be seen in it. */
  async #inWorld<T extends { readonly broken: readonly string[] }>(
    work: (world: World) => Promise<T>,
  ): Promise<T> {
    const { program, double, unsafe, say, newDatabase } = this.#options;
    this.#count += 1;
    const name = String(this.#count);
    const databaseUrl = await newDatabase?.();
    const world = new World({ name, program, double, unsafe, databaseUrl });
    this.#worlds.add(world);
    let isClean = false;
    try {
      const result = await work(world);
      isClean = result.broken.length === 0 || unsafe !== undefined;
      return result;
    } finally {
      await clear(world);
      this.#worlds.delete(world);
      if (isClean) world.remove();
      else say(`What is left of it: ${world.folder}`);
    }
  }
}

/** First and last seeds. */
function blocksOf(first: number, last: number, size: number): (readonly [number, number])[] {
  const count = Math.ceil((last - first + 1) / size);
  return Array.from({ length: count }, (_, index) => {
    const from = first + index * size;
    return [from, Math.min(from + size - 1, last)] as const;
  });
}

/** Waits for every one, also when one fails, so that nothing of a block goes on after it. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}

interface BlockRequest {
  /** Beyond the last seed for deaths that make up for missed ones. */
  readonly firstSeed: number;
  readonly lastSeed: number;
  readonly deaths: readonly Death[];
}
