import type { Row } from "./checklist.ts";
import type { Requirement } from "./requirement.ts";
import type { Result } from "./run.ts";
import type { Scenario } from "./scenario.ts";

/** What became of a requirement or a row: the worst of its scenarios. */
export type Verdict = "passed" | "failed" | "deferred" | "not_run";

export interface Verdicts {
  readonly requirements: ReadonlyMap<string, Verdict>;
  readonly rows: ReadonlyMap<number, Verdict>;
}

const WORST: readonly Verdict[] = ["failed", "not_run", "deferred", "passed"];

/** Judges every requirement and every row by the scenarios that cite it; without one it is not run. */
export function verdictsOf(
  requirements: readonly Requirement[],
  checklist: readonly Row[],
  results: readonly Result[],
): Verdicts {
  const of = (cites: (scenario: Scenario) => boolean): Verdict => {
    const outcomes = results.filter(({ scenario }) => cites(scenario)).map(verdictOf);
    return WORST.find((verdict) => outcomes.includes(verdict)) ?? "not_run";
  };
  return {
    requirements: new Map(
      requirements.map(({ id }) => [id, of(({ verifies }) => verifies.includes(id))]),
    ),
    rows: new Map(checklist.map(({ row }) => [row, of(({ rows = [] }) => rows.includes(row))])),
  };
}

function verdictOf({ outcome }: Result): Verdict {
  return outcome === "unclaimed" ? "failed" : outcome;
}
