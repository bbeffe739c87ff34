import { isDeepStrictEqual } from "node:util";
import type { LogEvent } from "../../core/session/log-event.ts";
import { brokenLogRules, callsWithoutHands, comparableLog } from "../log-rules.ts";
import { type Fate, isRace, losesHands } from "./fate.ts";
import { reactsToTools, type SessionPlan } from "./plan.ts";
import type { Played } from "./play.ts";

/**
 * What is wrong with a session that something befell; nothing if it is as the undisturbed one.
 *
 * Always: it comes to rest, its log keeps the rules, the model's API refused nothing, no call ran twice
 * or without having been journalled, and all input is in the log once, messages in their order.
 *
 * And the log is equivalent to that of the undisturbed session (`comparableLog`), but where a fate is a
 * race (input at any moment), and where hands died of a session that goes by what its tools do, or that
 * is compacted when they say much.
 */
export function problemsOf(
  played: Played,
  reference: Played,
  plan: SessionPlan,
  fate: Fate,
): readonly string[] {
  const { log } = played;
  const problems = [
    ...played.problems,
    ...brokenLogRules(log),
    ...brokenCallRules(played),
    ...brokenInputRules(played),
  ];
  const goesByTools = reactsToTools(plan) || plan.window !== null;
  if (isRace(fate) || (losesHands(fate) && goesByTools)) return problems;
  const unknown = losesHands(fate) ? callsWithoutHands(log) : new Set<string>();
  const difference = firstDifference(
    comparableLog(reference.log, unknown),
    comparableLog(log, unknown),
  );
  return difference === undefined ? problems : [...problems, difference];
}

function brokenCallRules({ log, executions, deeds }: Played): readonly string[] {
  const journalled = new Set(
    log.flatMap((event) => (event.type === "drover.call_started" ? [event.private.call_id] : [])),
  );
  return [
    ...repeated(executions.map(({ callId }) => callId)).map((id) => `call ${id} ran twice`),
    ...repeated(deeds).map((label) => `${label} was done twice`),
    ...executions.flatMap(({ callId }) =>
      journalled.has(callId) ? [] : [`call ${callId} ran and is not in the journal`],
    ),
  ];
}

function repeated(names: readonly string[]): readonly string[] {
  return names.filter((name, index) => names.indexOf(name) !== index);
}

function brokenInputRules({ log, accepted }: Played): readonly string[] {
  const wanted = new Map(accepted.map(({ id }) => [id, 0]));
  for (const { id } of log) if (wanted.has(id)) wanted.set(id, (wanted.get(id) ?? 0) + 1);
  const counts = [...wanted].flatMap(([id, count]) =>
    count === 1 ? [] : [`input ${id} is in the log ${count} times`],
  );
  const sent = accepted
    .filter(isMessage)
    .toSorted((left, right) => left.arrival - right.arrival)
    .map(({ id }) => id);
  const taken = log.filter(isMessage).map(({ id }) => id);
  const isOrdered = isDeepStrictEqual(taken, sent);
  return [...counts, ...(isOrdered ? [] : [`messages are taken up as ${taken}, sent as ${sent}`])];
}

function isMessage({ type }: Pick<LogEvent, "type">): boolean {
  return type === "user.message" || type === "system.message";
}

function firstDifference(
  expected: readonly unknown[],
  found: readonly unknown[],
): string | undefined {
  for (let at = 0; at < Math.max(expected.length, found.length); at++) {
    if (isDeepStrictEqual(expected[at], found[at])) continue;
    const before = expected.slice(Math.max(0, at - 4), at).map(shown);
    return [
      `the log differs at ${at}, after ${before.join(" ")}:`,
      `  undisturbed ${shown(expected[at])}`,
      `  this        ${shown(found[at])}`,
    ].join("\n");
  }
  return undefined;
}

function shown(entry: unknown): string {
  return (JSON.stringify(entry) ?? "nothing").slice(0, 400);
}
