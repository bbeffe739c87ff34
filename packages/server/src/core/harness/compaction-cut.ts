import type { ModelBlock } from "../ports/model.ts";
import { eventTokens } from "../session/fold-context.ts";
import type { LogEvent } from "../session/log-event.ts";
import { blocksTokens } from "../session/token-estimate.ts";
import { toModelBlock } from "./context.ts";
import { withoutWithheld } from "./withheld.ts";

/** Shares of the prompt that may be kept as they are: whole turns before the newest … */
const EARLIER_TURNS_SHARE = 1 / 5;
/** … the newest turn with its input … */
const TURN_SHARE = 1 / 2;
/** … or, of a turn that has grown too long for that, its newest responses. */
const RESPONSES_SHARE = 1 / 4;
/** Characters of an input that is too long to be repeated as it is. */
const INPUT_CHARS_MAX = 20_000;
/** Characters of system messages that outlive what they came with. */
const SYSTEM_CHARS_MAX = 40_000;

/** Where a context is cut in two. */
export interface Cut {
  /** `seq` from which on everything is kept. */
  readonly keptFrom: number;
  /** What is to be summarised, an earlier summary included. */
  readonly dropped: readonly LogEvent[];
  /** The newest input, where it is not among what is kept. */
  readonly input: readonly ModelBlock[];
  /** What the system said before the cut: it goes on to hold. */
  readonly system: readonly ModelBlock[];
}

/** What is never cut apart: a message of the user's, or a response with all of its results. */
interface Unit {
  readonly kind: "input" | "response";
  readonly events: LogEvent[];
  tokens: number;
}

/**
 * Finds where to cut so that as much as may be is kept of the newest: whole turns, always the input
 * that has not been answered, never a call without its result or a part of a response. Of a turn that
 * alone is too long the newest responses are kept, and its input is repeated. `promptMax` is in tokens;
 * the more compactions in a row, the less is kept.
 */
export function compactionCut(
  events: readonly LogEvent[],
  { promptMax, compactions }: { promptMax: number; compactions: number },
): Cut {
  const units = unitsOf(
    withoutWithheld(events).filter(({ type }) => type !== "agent.thread_context_compacted"),
  );
  const newest = newestInput(units);
  const place = cutPlace(units, newest, promptMax / 2 ** compactions);
  const last = events.at(-1)?.seq ?? 0;
  const keptFrom = units[place]?.events[0]?.seq ?? last + 1;
  const dropped = events.filter(({ seq, type }) => {
    return seq < keptFrom || type === "agent.thread_context_compacted";
  });
  return {
    keptFrom,
    dropped,
    system: saidBySystem(dropped),
    input: place <= newest.to ? [] : repeatedInput(events, units, newest, promptMax),
  };
}

/** The places of the newest input, which may be several messages; -1 for none. */
interface Newest {
  readonly from: number;
  readonly to: number;
}

function newestInput(units: readonly Unit[]): Newest {
  const to = units.findLastIndex(({ kind }) => kind === "input");
  const before = units.findLastIndex(({ kind }, place) => place < to && kind !== "input");
  return { from: to < 0 ? to : before + 1, to };
}

/** The index of the first unit that is kept; the number of units if none is. */
function cutPlace(units: readonly Unit[], newest: Newest, promptMax: number): number {
  const isUnanswered = newest.to >= 0 && newest.to === units.length - 1;
  const halves = halvedPlaces(units);
  let kept = units.reduce((sum, { tokens }) => sum + tokens, 0);
  for (const [place, unit] of units.entries()) {
    if (place === newest.to && isUnanswered) return place;
    const fits = kept <= promptMax * shareAt(place, unit, newest);
    if (place > 0 && fits && !halves.has(place)) return place;
    kept -= unit.tokens;
  }
  return units.length;
}

function shareAt(place: number, { kind }: Unit, { from, to }: Newest): number {
  if (place >= from && place <= to) return TURN_SHARE;
  if (place > to) return kind === "response" ? RESPONSES_SHARE : 0;
  return kind === "input" ? EARLIER_TURNS_SHARE : 0;
}

/** The places where a call would be before the cut and its result after it. */
function halvedPlaces(units: readonly Unit[]): ReadonlySet<number> {
  const calledIn = new Map<string, number>();
  const halved = new Set<number>();
  for (const [place, unit] of units.entries()) {
    for (const event of unit.events) {
      calledIn.set(event.id, place);
      const callId = answeredCall(event);
      const from = callId === undefined ? undefined : calledIn.get(callId);
      for (let between = (from ?? place) + 1; between <= place; between++) halved.add(between);
    }
  }
  return halved;
}

function answeredCall({ type, public: shown }: LogEvent): string | undefined {
  if (!type.endsWith("tool_result")) return undefined;
  const ids = ["tool_use_id", "custom_tool_use_id", "mcp_tool_use_id"];
  const fields: Readonly<Record<string, unknown>> = { ...shown };
  return ids.map((id) => fields[id]).find((id) => typeof id === "string");
}

function unitsOf(events: readonly LogEvent[]): readonly Unit[] {
  const units: Unit[] = [];
  let request: string | undefined;
  for (const event of events) {
    const isInput = event.type === "user.message";
    const own = "request" in event.private ? event.private.request : undefined;
    const isNewResponse = own !== undefined && own !== request;
    const last = units.at(-1);
    if (last === undefined || isInput || isNewResponse) {
      units.push({ kind: isInput ? "input" : "response", events: [event], tokens: 0 });
    } else last.events.push(event);
    if (own !== undefined) request = own;
    const unit = units.at(-1);
    if (unit !== undefined) unit.tokens += eventTokens(event);
  }
  return units;
}

/** The newest of it, if there is too much. */
function saidBySystem(dropped: readonly LogEvent[]): readonly ModelBlock[] {
  const before = dropped.findLast((event) => event.type === "agent.thread_context_compacted");
  // What came before that is in it already.
  const since = dropped.filter(({ seq }) => seq >= (before?.private.kept_from ?? 0));
  const blocks = [
    ...(before?.private.system ?? []),
    ...since.flatMap((event) =>
      event.type === "system.message" ? event.public.content.map(toModelBlock) : [],
    ),
  ];
  let room = SYSTEM_CHARS_MAX;
  const kept = blocks.toReversed().filter((block) => {
    room -= String(block["text"]).length;
    return room >= 0;
  });
  return kept.toReversed();
}

/** The newest input as it was; where it is in no event any more, as the compaction before repeated it. */
function repeatedInput(
  events: readonly LogEvent[],
  units: readonly Unit[],
  newest: Newest,
  promptMax: number,
): readonly ModelBlock[] {
  const before = events.findLast((event) => event.type === "agent.thread_context_compacted");
  const own = units
    .slice(Math.max(newest.from, 0), newest.to + 1)
    .flatMap((unit) => unit.events)
    .flatMap((event) => (event.type === "user.message" ? event.public.content : []));
  const blocks = own.length > 0 ? own.map(toModelBlock) : (before?.private.input ?? []);
  if (blocksTokens(blocks) <= promptMax * RESPONSES_SHARE) return blocks;
  const text = blocks.map((block) => String(block["text"] ?? `(${block.type})`)).join("\n");
  return [{ type: "text", text: `${text.slice(0, INPUT_CHARS_MAX).toWellFormed()}\n(shortened)` }];
}
