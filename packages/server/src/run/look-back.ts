import { isListedType } from "../app/events-types.ts";
import { lookedBackResult } from "../core/harness/results.ts";
import { roomOf } from "../core/harness/room.ts";
import type { EventRange } from "../core/ports/event-log.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { threadState } from "../core/session/state.ts";
import { type LookBackRequest, lookBackRequest } from "../core/tools/session-events.ts";
import { hasText, isShown, shownEvent, textLength } from "../core/tools/shown-events.ts";
import type { EffectContext, Settlement } from "./settlement.ts";
import { threadLimits } from "./thread-limits.ts";

const PAGE_EVENTS = 500;
/** Events that one call looks through, whatever it finds. */
const SEARCHED_MAX = 10_000;
/** And characters of what was said in them. */
const SEARCHED_CHARS_MAX = 50_000_000;
/** Characters of one result, and at most this share of what the model reads at once. */
const RESULT_CHARS_MAX = 60_000;
const RESULT_SHARE_MAX = 1 / 5;
const CHARS_PER_TOKEN = 3;

interface Found {
  /** In the order of the log. */
  readonly lines: readonly string[];
  /** Positions that the search has come past, from and to; undefined where there was nothing. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** True if the log goes on in the direction of the search. */
  readonly hasMore: boolean;
}

/** Answers a call of `session_events` from the log, as it was when the call was made. */
export async function lookBack(
  callId: string,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const call = context.view.findCall(callId);
  if (call === undefined) throw new Error(`call ${callId} has no tool use in its context`);
  const { text, isError } = await answer(call.public.input, call.seq, context, signal);
  return { drafts: (_state, drafting) => [lookedBackResult(drafting, callId, text, isError)] };
}

async function answer(
  input: unknown,
  now: number,
  context: EffectContext,
  signal: AbortSignal,
): Promise<{ text: string; isError: boolean }> {
  const wanted = lookBackRequest(input);
  if ("problem" in wanted) return { text: wanted.problem, isError: true };
  const { request } = wanted;
  const unknown = request.types.find((type) => !isListedType(type));
  if (unknown !== undefined) {
    return { text: `types: there are no events of the type ${unknown}`, isError: true };
  }
  const before = Math.min(request.before ?? now, now);
  const found = await search({ ...request, before }, context, signal);
  return { text: told(found, request), isError: false };
}

type Search = LookBackRequest & { readonly before: number };

async function search(
  request: Search,
  context: EffectContext,
  signal: AbortSignal,
): Promise<Found> {
  const lines: string[] = [];
  const charsMax = resultChars(context);
  let left = charsMax;
  let place: number | undefined;
  for await (const event of eventsOf(request, context, signal)) {
    if (event === "unfinished") return found(request, lines, place, true);
    const line = lineOf(event, request.query);
    if (line !== undefined) {
      const isFull = lines.length === request.limit || line.length > left;
      // The first is given whatever its size, so that whoever goes on comes past it.
      if (isFull && lines.length > 0) return found(request, lines, place, true);
      left -= line.length;
      lines.push(line.slice(0, charsMax).toWellFormed());
    }
    place = event.seq;
  }
  return found(request, lines, place, false);
}

function lineOf(event: LogEvent, query: string | undefined): string | undefined {
  if (!isShown(event)) return undefined;
  return query === undefined || hasText(event, query) ? shownEvent(event, query) : undefined;
}

function found(
  { after, before }: Search,
  lines: readonly string[],
  place: number | undefined,
  hasMore: boolean,
): Found {
  return after === undefined
    ? { lines: lines.toReversed(), from: place, to: before - 1, hasMore }
    : { lines, from: after + 1, to: place, hasMore };
}

/**
 * The events in the direction of the search, page by page, so that a long log neither fills the memory
 * nor holds up other sessions. Ends with `unfinished` where one call has looked through enough.
 */
async function* eventsOf(
  request: Search,
  context: EffectContext,
  signal: AbortSignal,
): AsyncGenerator<LogEvent | "unfinished"> {
  let place: number | undefined;
  let chars = 0;
  for (let searched = 0; searched < SEARCHED_MAX && chars < SEARCHED_CHARS_MAX; ) {
    signal.throwIfAborted();
    const page = await pageOf(request, place, context);
    if (page.length === 0) return;
    yield* page;
    searched += page.length;
    chars += page.reduce((sum, event) => sum + textLength(event), 0);
    place = page.at(-1)?.seq;
  }
  yield "unfinished";
}

async function pageOf(
  { after, before, types }: Search,
  place: number | undefined,
  { view, deps }: EffectContext,
): Promise<readonly LogEvent[]> {
  const isForward = after !== undefined;
  const bounds = isForward ? { after: place ?? after, before } : { before: place ?? before };
  const range: EventRange = {
    ...bounds,
    types: types.filter(isListedType),
    threadId: view.session.thread_id,
    visible: true,
    order: isForward ? "asc" : "desc",
    limit: PAGE_EVENTS,
  };
  return await deps.store.events.getEvents(view.key, range);
}

function resultChars({ view, deps }: EffectContext): number {
  const limits = threadLimits(view.session, deps);
  if (limits === undefined) return RESULT_CHARS_MAX;
  const { context } = threadState(view.state, view.session.thread_id);
  const { prompt } = roomOf(deps.policies, limits, context);
  return Math.min(RESULT_CHARS_MAX, Math.floor(prompt * RESULT_SHARE_MAX * CHARS_PER_TOKEN));
}

function told({ lines, from, to, hasMore }: Found, { after }: LookBackRequest): string {
  const range = from === undefined || to === undefined ? "" : ` from seq ${from} to ${to}`;
  const head = `${lines.length === 0 ? "No events were found" : `${lines.length} events`}${range}.`;
  const isForward = after !== undefined;
  const next = isForward ? `"after": ${to ?? after}` : `"before": ${from ?? 0}`;
  const more = hasMore ? [`There is more: go on with ${next}.`] : [];
  return [head, ...lines, ...more].join("\n");
}
