import type { Row } from "./checklist.ts";
import type { Requirement } from "./requirement.ts";
import type { Result } from "./run.ts";
import { SECTIONS, sectionOf } from "./sections.ts";
import { type Verdict, type Verdicts, verdictsOf } from "./verdicts.ts";

interface ReportOptions {
  readonly requirements: readonly Requirement[];
  readonly checklist: readonly Row[];
  readonly results: readonly Result[];
  readonly seconds: number;
}

const VERDICTS: readonly Verdict[] = ["passed", "failed", "deferred", "not_run"];
const SIGNS: Readonly<Record<Verdict, string>> = {
  passed: "✓",
  failed: "✗",
  deferred: "…",
  not_run: "-",
};

/** The tables by section and by row, and what failed; lines of text. */
export function report(options: ReportOptions): string {
  const verdicts = verdictsOf(options.requirements, options.checklist, options.results);
  return [
    ...bySection(options.requirements, verdicts),
    "",
    ...byRow(options.checklist, verdicts),
    "",
    ...failures(options.results),
    summary(options, verdicts),
  ].join("\n");
}

/** True if nothing failed and nothing that is deferred passes. */
export function isGreen(results: readonly Result[]): boolean {
  return results.every(({ outcome }) => outcome !== "failed" && outcome !== "unclaimed");
}

function bySection(requirements: readonly Requirement[], verdicts: Verdicts): string[] {
  const lines = [`${"§".padEnd(5)}${"section".padEnd(36)}${VERDICTS.map(column).join("")}`];
  for (const [section, title] of Object.entries(SECTIONS)) {
    const own = requirements.filter((each) => sectionOf(each.section) === section);
    if (own.length === 0) continue;
    const counts = countsOf(own.map(({ id }) => verdicts.requirements.get(id)));
    lines.push(`${section.padEnd(5)}${title.padEnd(36)}${counts}`);
  }
  const total = countsOf(requirements.map(({ id }) => verdicts.requirements.get(id)));
  return [...lines, `${"".padEnd(5)}${"requirements".padEnd(36)}${total}`];
}

function byRow(checklist: readonly Row[], verdicts: Verdicts): string[] {
  return checklist.map(({ row, tag, capability }) => {
    const sign = SIGNS[verdicts.rows.get(row) ?? "not_run"];
    return `${sign} ${String(row).padStart(3)} ${tag.padEnd(5)} ${capability}`;
  });
}

function failures(results: readonly Result[]): string[] {
  return results
    .filter(({ outcome }) => outcome === "failed" || outcome === "unclaimed")
    .flatMap(({ scenario, reason }) => [
      `✗ ${scenario.name}`,
      `    ${scenario.verifies.join(", ")}`,
      `    ${reason}`,
      "",
    ]);
}

function summary({ requirements, results, seconds }: ReportOptions, verdicts: Verdicts): string {
  const of = (verdict: Verdict) =>
    requirements.filter(({ id }) => verdicts.requirements.get(id) === verdict).length;
  return [
    `${requirements.length} requirements: ${of("passed")} hold, ${of("failed")} do not,`,
    `${of("deferred")} deferred, ${of("not_run")} not run;`,
    `${results.length} scenarios in ${seconds.toFixed(1)} s.`,
  ].join(" ");
}

function countsOf(verdicts: readonly (Verdict | undefined)[]): string {
  return VERDICTS.map((verdict) =>
    column(String(verdicts.filter((each) => each === verdict).length)),
  ).join("");
}

function column(text: string): string {
  return text.replace("_", " ").padStart(10);
}
