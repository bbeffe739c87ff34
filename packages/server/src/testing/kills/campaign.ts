import { type Fate, fateOf, NO_FATE } from "./fate.ts";
import { createKillWorld } from "./kill-world.ts";
import { planOf } from "./plan.ts";
import type { PlantedFault } from "./planted-faults.ts";
import type { Played } from "./play.ts";
import { problemsOf } from "./verdict.ts";

export interface Failure {
  readonly seed: number;
  readonly number: number;
  readonly fate: Fate;
  readonly problems: readonly string[];
  readonly traces: Played["traces"];
}

export interface Tally {
  /** Processes that died. */
  kills: number;
  sessions: number;
  /** Deaths by the step they came at. */
  readonly places: Map<string, number>;
}

export function newTally(): Tally {
  return { kills: 0, sessions: 0, places: new Map() };
}

export function shownTally({ kills, sessions, places }: Tally): string {
  const shares = [...places].map(([place, count]) => `${count} ${place}`);
  return `kills: ${kills} in ${sessions} sessions: ${shares.join(", ")}`;
}

/** Plays the session of a seed undisturbed, then once for each number with the fate of that number. */
export async function playSeed(
  seed: number,
  numbers: readonly number[],
  tally: Tally,
  planted: PlantedFault = {},
): Promise<readonly Failure[]> {
  const plan = planOf(seed);
  const world = await createKillWorld(plan, planted);
  try {
    const reference = await world.play(NO_FATE);
    const own = problemsOf(reference, reference, plan, NO_FATE);
    const { traces } = reference;
    if (own.length > 0) return [{ seed, number: 0, fate: NO_FATE, problems: own, traces }];
    const failures: Failure[] = [];
    for (const number of numbers) {
      const fate = fateOf(seed, number, traces.flat());
      const played = await world.play(fate);
      count(tally, played);
      const problems = problemsOf(played, reference, plan, fate);
      if (problems.length > 0) {
        failures.push({ seed, number, fate, problems, traces: played.traces });
      }
    }
    return failures;
  } finally {
    await world.close();
  }
}

/** A failure as a sentence or two, and how to see it again. */
export function told({ seed, number, fate, problems, traces }: Failure): string {
  const ends = traces.map((trace) => `${trace.length} steps, the last ${trace.at(-1)}`);
  return [
    `session ${seed}, fate ${number}: ${JSON.stringify(fate)}`,
    ...problems.slice(0, 5).map((problem) => `  ${problem}`),
    `  processes: ${ends.join("; ")}`,
    `  again: KILLS_PLAY=${seed}:${number} npx vitest run --project contract run/kills`,
  ].join("\n");
}

function count(tally: Tally, { deaths }: Played): void {
  tally.sessions += 1;
  for (const place of deaths) {
    tally.kills += 1;
    tally.places.set(place, (tally.places.get(place) ?? 0) + 1);
  }
}
