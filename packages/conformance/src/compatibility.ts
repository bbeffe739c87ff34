import { CHECKLIST } from "./checklist.ts";
import { EVENT_TYPES } from "./event-types.ts";
import { REQUIREMENTS } from "./requirements.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { SECTIONS, sectionOf } from "./sections.ts";
import { ENDPOINTS } from "./support/endpoints.ts";

/** A page of `docs/decisions`: where the contract is silent, and what Drover does then. */
export interface Decision {
  readonly file: string;
  readonly title: string;
}

const HEAD = `<!-- Written by packages/conformance: \`npx vitest run --project contract packages/conformance -u\` -->

# Compatibility

What of the Managed Agents contract (\`@anthropic-ai/sdk\` 1.14.0) this version has. The tables are made of the
conformance suite's data: what stands as working is tried against a started server by every run of the tests,
and what is deferred is tried as well and must fail, so that neither can be wrong for long.`;

/** `docs/compatibility.md`, as text. */
export function compatibilityPage(decisions: readonly Decision[]): string {
  return [
    HEAD,
    "## Requirements by section",
    ...sections(),
    "## Endpoints",
    ...endpoints(),
    "What is not built answers 501 with `not implemented in this version: …` and `x-should-retry: false`.",
    "## Events",
    ...events(),
    "## Rows of the checklist",
    ...rows(),
    "## Where the contract is silent",
    "The contract's own list of choices is part of the suite (§21a). The rest has a page each:",
    decisions.map(({ file, title }) => `- [${title}](decisions/${file})`).join("\n"),
    "",
  ].join("\n\n");
}

function sections(): string[] {
  const lines = Object.entries(SECTIONS).flatMap(([section, title]) => {
    const own = REQUIREMENTS.filter((each) => sectionOf(each.section) === section);
    return own.length === 0 ? [] : [row([section, title, ...counts(own.map(({ id }) => id))])];
  });
  const all = row(["", "**all**", ...counts(REQUIREMENTS.map(({ id }) => id))]);
  return [table(["§", "section", "requirements", "hold", "deferred"], [...lines, all])];
}

function counts(ids: readonly string[]): string[] {
  const deferred = ids.filter(
    (id) => reasonsOf(({ verifies }) => verifies.includes(id)).length > 0,
  );
  return [ids.length, ids.length - deferred.length, deferred.length].map(String);
}

function endpoints(): string[] {
  const lines = ENDPOINTS.map(({ id, method, path, deferred }) =>
    row([
      `\`${method} ${path}\``,
      `\`${id}\``,
      deferred === undefined ? "works" : `501: ${deferred}`,
    ]),
  );
  return [table(["endpoint", "method of the client", ""], lines)];
}

function events(): string[] {
  const lines = Object.entries(EVENT_TYPES).map(([type, shownBy]) => {
    const reasons = reasonsOf(({ rows: cites = [], verifies }) =>
      typeof shownBy === "number" ? cites.includes(shownBy) : verifies.includes(shownBy),
    );
    return row([`\`${type}\``, verdictOf(reasons)]);
  });
  return [table(["type", ""], lines)];
}

function verdictOf(reasons: readonly string[]): string {
  return reasons.length === 0 ? "works" : `deferred: ${reasons.join("; ")}`;
}

function rows(): string[] {
  const lines = CHECKLIST.map(({ row: number, tag, capability }) => {
    const cited = SCENARIOS.filter(({ rows: cites = [] }) => cites.includes(number));
    const reasons = reasonsOf(({ rows: cites = [] }) => cites.includes(number));
    const verdict = cited.length === 0 ? "not tried" : verdictOf(reasons);
    return row([String(number), tag, capability, verdict]);
  });
  return [table(["#", "tag", "capability", ""], lines)];
}

/** Why scenarios are deferred, each reason once. */
function reasonsOf(cites: (scenario: Scenario) => boolean): string[] {
  const reasons = SCENARIOS.filter(cites).map(({ deferred }) => deferred);
  return [...new Set(reasons.filter((reason) => reason !== undefined))];
}

function table(heads: readonly string[], lines: readonly string[]): string {
  return [row(heads), row(heads.map(() => "---")), ...lines].join("\n");
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
}
