import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Commit, Machine } from "./lib/machine.ts";
import { type Goal, isMet, type Measurement, type Section } from "./lib/measurement.ts";

export interface Run {
  /** RFC 3339. */
  readonly date: string;
  readonly isQuick: boolean;
  readonly minutes: number;
  readonly machine: Machine;
  readonly commit: Commit;
  readonly sections: readonly Section[];
  /** Sections that broke, with what they said. */
  readonly failures: readonly { readonly title: string; readonly message: string }[];
}

/** Fewer samples say little about the ends of a distribution. */
const SAMPLES_MIN = 200;

/** The run as Markdown: what is printed, and what is kept. */
export function toMarkdown(run: Run): string {
  return `${[
    `# Benchmark of ${run.date.slice(0, 10)}, commit ${commitOf(run)}`,
    ...(run.isQuick
      ? ["**A quick run: too few samples to quote. It proves that the benchmark works.**"]
      : []),
    machineLine(run),
    ...run.sections.map(sectionText),
    outcome(run),
  ].join("\n\n")}\n`;
}

/** Writes the run as `<date>-<commit>.json` and `.md`, and as `latest.md`; a quick one as `quick.*`. */
export function writeResults(folder: string, run: Run): readonly string[] {
  mkdirSync(folder, { recursive: true });
  const name = run.isQuick ? "quick" : `${run.date.slice(0, 10)}-${commitOf(run)}`;
  const markdown = toMarkdown(run);
  const files: readonly (readonly [string, string])[] = [
    [`${name}.json`, `${JSON.stringify(run, null, 2)}\n`],
    [`${name}.md`, markdown],
    ...(run.isQuick ? [] : [["latest.md", markdown] as const]),
  ];
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  return files.map(([file]) => file);
}

function commitOf({ commit }: Run): string {
  return commit.isChanged ? `${commit.hash}-changed` : commit.hash;
}

function machineLine({ machine, minutes }: Run): string {
  const { cpu, cores, memoryGb, kernel, node, filesystem, loadBefore } = machine;
  return `${cpu}, ${cores} cores, ${memoryGb} GB, Linux ${kernel}, Node ${node.slice(1)}, ${filesystem}; load before: ${loadBefore}. Server, model, client and sandboxes share these cores. ${minutes.toFixed(1)} minutes.`;
}

function sectionText({ title, measurements, notes }: Section): string {
  const rows = [
    ["", "n", "p50", "p95", "p99", "unit", "goal", ""],
    ["---", "--:", "--:", "--:", "--:", "---", "---", "---"],
    ...measurements.map(row),
  ];
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const table = rows.map(
    (cells) => `| ${cells.map((cell, at) => padded(cell, at, widths)).join(" | ")} |`,
  );
  return [`## ${title}`, table.join("\n"), ...notes].join("\n\n");
}

function row(measurement: Measurement): readonly string[] {
  const { name, unit, n, goals } = measurement;
  const values = (["p50", "p95", "p99"] as const).map((statistic) =>
    number(measurement[statistic]),
  );
  return [name, String(n), ...values, unit, goals.map(goalText).join(", "), verdict(measurement)];
}

function padded(cell: string, column: number, widths: readonly number[] | undefined): string {
  const width = widths?.[column] ?? 0;
  if (/^-+:?$/.test(cell))
    return cell.endsWith(":") ? `${"-".repeat(width - 1)}:` : "-".repeat(width);
  return column >= 1 && column <= 4 ? cell.padStart(width) : cell.padEnd(width);
}

function verdict(measurement: Measurement): string {
  if (measurement.goals.length === 0) return "";
  return measurement.goals.every((goal) => isMet(measurement, goal)) ? "met" : "MISSED";
}

function goalText({ statistic, is, limit }: Goal): string {
  return `${statistic} ${is === "at_most" ? "≤" : "≥"} ${limit}`;
}

function number(value: number): string {
  const size = Math.abs(value);
  return size >= 1_000
    ? Math.round(value).toLocaleString("en")
    : value.toFixed(size >= 100 ? 0 : 2);
}

/** Every goal that was missed, every section that could not be measured, every row with few samples. */
function outcome({ sections, failures, isQuick }: Run): string {
  const all = sections.flatMap(({ measurements }) => measurements);
  const missed = all.flatMap((measurement) =>
    measurement.goals
      .filter((goal) => !isMet(measurement, goal))
      .map((goal) => {
        const { name, unit } = measurement;
        return `- MISSED: ${name}: ${goalText(goal)} ${unit}, measured ${number(measurement[goal.statistic])} ${unit}`;
      }),
  );
  const few = isQuick
    ? []
    : all
        .filter(
          ({ goals, n, name }) => goals.length > 0 && n < SAMPLES_MIN && !name.includes("memory"),
        )
        .map(({ name, n }) => `- Only ${n} samples: ${name}`);
  const broken = failures.map(({ title, message }) => `- NOT MEASURED: ${title}: ${message}`);
  const goals = all.reduce((sum, measurement) => sum + measurement.goals.length, 0);
  const lines = [...missed, ...broken, ...few];
  const heading = `## Goals\n\n${goals - missed.length} of ${goals} met.`;
  return lines.length === 0 ? heading : `${heading}\n\n${lines.join("\n")}`;
}
