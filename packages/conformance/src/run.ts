import type { Scenario } from "./scenario.ts";
import type { Target } from "./target.ts";

/** Milliseconds that a scenario may take; one that is expected to fail gets less. */
const SCENARIO_MS = 60_000;
const DEFERRED_MS = 8_000;
/** Scenarios at once: most of a scenario is waiting for the server. */
const PARALLEL = 6;

export interface Result {
  readonly scenario: Scenario;
  /**
   * `unclaimed`: it passes though it is deferred. `not_run`: the run lacks what it needs. `deferred`: it
   * fails, as was expected.
   */
  readonly outcome: "passed" | "failed" | "deferred" | "unclaimed" | "not_run";
  /** Why, for anything but `passed`. */
  readonly reason?: string;
}

/**
 * Runs all scenarios, several at once; results are in the order of the scenarios. Streams that are still
 * open then are closed. Never rejects.
 */
export async function runScenarios(
  target: Target,
  scenarios: readonly Scenario[],
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = [...scenarios.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, scenario] = next;
      results[index] = await runScenario(target, scenario);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  target.close();
  return results;
}

/** Runs one scenario. Never rejects. */
export async function runScenario(target: Target, scenario: Scenario): Promise<Result> {
  const missing = (scenario.needs ?? []).filter((need) => !target.has(need));
  if (missing.length > 0) {
    return { scenario, outcome: "not_run", reason: `the run has no ${missing.join(", no ")}` };
  }
  const { deferred } = scenario;
  const failure = await failureOf(target, scenario);
  if (deferred !== undefined) {
    return failure === undefined
      ? { scenario, outcome: "unclaimed", reason: `passes, though deferred: ${deferred}` }
      : { scenario, outcome: "deferred", reason: deferred };
  }
  return failure === undefined
    ? { scenario, outcome: "passed" }
    : { scenario, outcome: "failed", reason: failure };
}

async function failureOf(target: Target, scenario: Scenario): Promise<string | undefined> {
  const { deferred, patienceMs = SCENARIO_MS } = scenario;
  const ms = deferred === undefined ? patienceMs : DEFERRED_MS;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`took more than ${ms} ms`)), ms);
  try {
    await Promise.race([scenario.run(target), late.promise]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? placeAndMessage(error) : String(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The message, and the line of the scenario where it came up. */
function placeAndMessage(error: Error): string {
  const place = /\(?(?:file:\/\/)?([^()\s]*scenarios\/[^()\s]+)\)?/.exec(error.stack ?? "")?.[1];
  const short = place?.replace(/^.*scenarios\//, "scenarios/");
  return short === undefined ? error.message : `${error.message} (${short})`;
}
