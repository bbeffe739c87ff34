import { describe, expect, test } from "vitest";
import { type Failure, newTally, playSeed, shownTally, told } from "../testing/kills/campaign.ts";
import { PLANTED_FAULTS } from "../testing/kills/planted-faults.ts";

/**
 * Processes are killed at random steps of random sessions, and others go on from the log. What has to be
 * the same then is told by `problemsOf` (testing/kills/verdict.ts) and `comparableLog`
 * (testing/log-rules.ts); what a session is made of by `planOf`, what befalls it by `fateOf`.
 *
 * A longer campaign: `KILLS=10000 KILLS_SEED=5001 npx vitest run --project contract run/kills`.
 * One session again, as a failure names it: `KILLS_PLAY=17:4`.
 */
const KILLS = Number(process.env["KILLS"] ?? 2_000);
const FIRST_SEED = Number(process.env["KILLS_SEED"] ?? 1);
const ONLY = process.env["KILLS_PLAY"]?.split(":").map(Number);
const FATES = Array.from({ length: 10 }, (_, index) => index + 1);
const FAILURES_MAX = 10;
/** Milliseconds a kill may take on a busy machine, before the whole is called stuck. */
const KILL_MS = 300;
/** Sessions after which a long campaign says how far it is. */
const TOLD_EVERY = 250;
/** Each planted fault is found within so many sessions. */
const PLANTED_SEEDS_MAX = 200;

test(`${KILLS} kills lose nothing, double nothing and leave nothing stuck`, {
  timeout: 60_000 + KILLS * KILL_MS,
  skip: ONLY !== undefined,
}, async () => {
  const tally = newTally();
  const failures: Failure[] = [];
  for (let seed = FIRST_SEED; tally.kills < KILLS && failures.length < FAILURES_MAX; seed++) {
    failures.push(...(await playSeed(seed, FATES, tally)));
    if ((seed - FIRST_SEED + 1) % TOLD_EVERY === 0) process.stdout.write(`${shownTally(tally)}\n`);
  }
  process.stdout.write(`${shownTally(tally)}\n`);
  expect(failures.map(told).join("\n\n")).toBe("");
  // Else the campaign has become tame: processes die before and after all that they reach out for.
  const places = ["write", "model", "locate", "execute", "settle", "cancel", "list tools"];
  const expected = places.flatMap((name) => [`before ${name}`, `after ${name}`]);
  if (KILLS >= 2_000) expect([...tally.places.keys()]).toEqual(expect.arrayContaining(expected));
});

describe("the campaign fails without", () => {
  test.each(Object.keys(PLANTED_FAULTS))("%s", { timeout: 120_000 }, async (name) => {
    const failures: Failure[] = [];
    for (let seed = 1; seed <= PLANTED_SEEDS_MAX && failures.length === 0; seed++) {
      failures.push(...(await playSeed(seed, FATES, newTally(), PLANTED_FAULTS[name])));
    }
    expect(failures.length).toBeGreaterThan(0);
    // It is a death that shows it: without one the same session is as it should be.
    expect(failures.filter(({ number }) => number === 0).map(told)).toEqual([]);
  });
});

test.runIf(ONLY !== undefined)("the session that is asked for", async () => {
  const [seed = 1, number = 1] = ONLY ?? [];
  expect((await playSeed(seed, [number], newTally())).map(told).join("\n")).toBe("");
});
