import type { z } from "zod";

type Issue = z.core.$ZodIssue;

const problemsMax = 10;
const nameMax = 80;

/**
 * What is wrong with a value, as text for its sender: `tools.0.permission_polcy: unknown field`.
 * Names every field; at most ten problems, and no more of the sender's own text than it takes to
 * recognise a name.
 */
export function describeProblems(error: z.ZodError): string {
  const problems = listProblems(error);
  const shown = problems.slice(0, problemsMax).map(({ message }) => message);
  const more = problems.length - shown.length;
  return more > 0 ? `${shown.join("; ")}; and ${more} more` : shown.join("; ");
}

/** One thing that is wrong. */
interface Problem {
  readonly path: readonly PropertyKey[];
  /** Begins with the path as text. */
  readonly message: string;
}

/** What `describeProblems` says, one by one and all of it. */
export function listProblems(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) => problemsOf(issue, []));
}

function problemsOf(issue: Issue, parent: readonly PropertyKey[]): Problem[] {
  const path = [...parent, ...issue.path];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => problemAt([...path, key], "unknown field"));
    case "invalid_union":
      return problemsOfUnion(issue, path);
    case "invalid_key":
      return [problemAt(path, `the key is not valid: ${messageOf(issue.issues)}`)];
    default:
      return [problemAt(path, lowered(issue.message))];
  }
}

/** The member that came closest: the one whose problems lie deepest. */
function problemsOfUnion(
  issue: Extract<Issue, { code: "invalid_union" }>,
  path: readonly PropertyKey[],
): Problem[] {
  const depths = issue.errors.map((issues) => Math.min(...issues.map((each) => each.path.length)));
  const closest = issue.errors[depths.indexOf(Math.max(...depths))];
  const isAmbiguous = depths.every((depth) => depth === 0);
  if (closest === undefined || isAmbiguous) {
    return [problemAt(path, expectationOf(issue))];
  }
  return closest.flatMap((each) => problemsOf(each, path));
}

function problemAt(path: readonly PropertyKey[], what: string): Problem {
  return { path, message: `${placeOf(path)}: ${what}` };
}

function expectationOf(issue: Extract<Issue, { code: "invalid_union" }>): string {
  const expected = issue.errors.map((issues) => issues[0]).flatMap((first) => expectedBy(first));
  if (expected.length === 0) return lowered(issue.message);
  return `expected ${[...new Set(expected)].join(" or ")}`;
}

function expectedBy(issue: Issue | undefined): string[] {
  if (issue === undefined) return [];
  return issue.code === "invalid_type" ? [issue.expected] : [lowered(issue.message)];
}

function messageOf(issues: readonly Issue[]): string {
  return issues.map((issue) => lowered(issue.message)).join(", ");
}

function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the value";
  return path.map((part) => clipped(String(part))).join(".");
}

function clipped(name: string): string {
  return name.length <= nameMax ? name : `${name.slice(0, nameMax)}…`;
}

function lowered(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
