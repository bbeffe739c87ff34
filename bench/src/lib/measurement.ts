export type Statistic = "p50" | "p95" | "p99";

/** A bound on one statistic, from the requirements or from the design. */
export interface Goal {
  readonly statistic: Statistic;
  readonly is: "at_most" | "at_least";
  readonly limit: number;
}

export interface Measurement {
  readonly name: string;
  readonly unit: string;
  readonly n: number;
  /** By nearest rank. For what is measured once for all samples together all three are that value. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly goals: readonly Goal[];
}

/** The same question asked of Drover and of what it is compared with, and what the answer means. */
export interface Section {
  readonly title: string;
  readonly measurements: readonly Measurement[];
  /** What was compared with what, and what else a reader must know to believe it. */
  readonly notes: readonly string[];
}

interface Shown {
  readonly name: string;
  readonly unit: string;
  readonly goals?: readonly Goal[];
}

export function distribution(shown: Shown, samples: readonly number[]): Measurement {
  if (samples.length === 0) throw new Error(`${shown.name} has no samples`);
  const sorted = samples.toSorted((left, right) => left - right);
  return {
    ...shown,
    goals: shown.goals ?? [],
    n: samples.length,
    p50: percentile(sorted, 50),
    p95: percentile(sorted, 95),
    p99: percentile(sorted, 99),
  };
}

/**
 * As `distribution`, where more is better: p95 is what 95 % of the samples reach, not what 5 % exceed.
 */
export function rates(shown: Shown, samples: readonly number[]): Measurement {
  const negated = distribution(
    shown,
    samples.map((value) => -value),
  );
  return { ...negated, p50: -negated.p50, p95: -negated.p95, p99: -negated.p99 };
}

/** A mean over `n` things that can only be measured together. */
export function mean(shown: Shown, n: number, value: number): Measurement {
  return { ...shown, goals: shown.goals ?? [], n, p50: value, p95: value, p99: value };
}

export function atMost(statistic: Statistic, limit: number): Goal {
  return { statistic, is: "at_most", limit };
}

export function atLeast(statistic: Statistic, limit: number): Goal {
  return { statistic, is: "at_least", limit };
}

export function isMet(measurement: Measurement, goal: Goal): boolean {
  const value = measurement[goal.statistic];
  return goal.is === "at_most" ? value <= goal.limit : value >= goal.limit;
}

function percentile(sorted: readonly number[], percent: number): number {
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}
