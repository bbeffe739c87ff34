import { isToolUse, type ToolUse } from "../core/session/called-tool.ts";
import type { LogEvent, LogEventOf } from "../core/session/log-event.ts";
import { toWire } from "../core/session/wire.ts";
import { misshapen } from "./event-shapes.ts";

/**
 * What must be true of the log of a session that waits for its user, whatever was killed when. Returns
 * a sentence for each rule that is broken.
 */
export function brokenLogRules(events: readonly LogEvent[]): readonly string[] {
  return [
    ...gaps(events),
    ...unanswered(events),
    ...openRequests(events),
    ...times(events),
    ...misshapen(events.filter(({ type }) => !type.startsWith("drover.")).map(toWire)),
    ...(isAtRest(events) ? [] : ["the log does not end in idle"]),
  ];
}

/** An interrupt of a session that is idle is recorded and changes nothing. */
function isAtRest(events: readonly LogEvent[]): boolean {
  const last = events.findLast(({ type }) => type !== "user.interrupt");
  return last?.type === "session.status_idle";
}

/**
 * The log without what may differ between two runs of which one was killed. Two logs are equivalent if
 * these are equal:
 * - model requests that were lost with their process, or ended by an interrupt, are left out: a dead
 *   process may have asked once more, or not yet;
 * - ids are named after what they are the id of, and times are left out;
 * - what neighbouring events tell of parallel calls comes in the order of the calls' input;
 * - of usage only sums are kept, as an answer that nobody waited for has filled the prompt cache;
 * - the calls in `unknown` (by their input, as JSON) were sent or not, and have any result: their
 *   hands died. What the model was sent after that has another length.
 */
export function comparableLog(
  events: readonly LogEvent[],
  unknown: ReadonlySet<string> = new Set(),
): readonly unknown[] {
  const lost = new Set(
    events.flatMap((event) =>
      event.type === "span.model_request_end" &&
      (event.private.outcome === "lost" || event.private.outcome === "interrupted")
        ? [event.id, event.public.model_request_start_id]
        : [],
    ),
  );
  const kept = events.filter((event) => !lost.has(event.id));
  const names = new Map<string, string>();
  for (const event of events) {
    if (isCall(event)) names.set(event.id, JSON.stringify(event.public.input));
  }
  const isCompared = (event: LogEvent) =>
    event.type !== "drover.call_started" || !unknown.has(names.get(event.private.call_id) ?? "");
  const compared = kept.filter(isCompared).map((event) => comparable(event, names, unknown));
  const entries = sortedRuns(compared);
  return withoutIds(entries, events, names);
}

function isCall(event: LogEvent): event is ToolUse | LogEventOf<"agent.custom_tool_use"> {
  return isToolUse(event) || event.type === "agent.custom_tool_use";
}

type ToolResult = LogEventOf<"agent.tool_result" | "agent.mcp_tool_result">;

export function isToolResult(event: LogEvent): event is ToolResult {
  return event.type === "agent.tool_result" || event.type === "agent.mcp_tool_result";
}

/** The id of its call. */
export function answeredBy(result: ToolResult): string {
  return result.type === "agent.tool_result"
    ? result.public.tool_use_id
    : result.public.mcp_tool_use_id;
}

/** The calls whose outcome is not known for want of hands, by their input as JSON. */
export function callsWithoutHands(events: readonly LogEvent[]): ReadonlySet<string> {
  const without = new Set(
    events.flatMap((event) =>
      isToolResult(event) &&
      (event.private.reason === "lost" || event.private.reason === "unavailable")
        ? [answeredBy(event)]
        : [],
    ),
  );
  return new Set(
    events.flatMap((event) =>
      isToolUse(event) && without.has(event.id) ? [JSON.stringify(event.public.input)] : [],
    ),
  );
}

function comparable(
  event: LogEvent,
  names: ReadonlyMap<string, string>,
  unknown: ReadonlySet<string>,
): { sort: string } {
  switch (event.type) {
    case "agent.tool_result":
    case "agent.mcp_tool_result": {
      const call = names.get(answeredBy(event)) ?? "";
      const { content, is_error } = event.public;
      const told = unknown.has(call) ? {} : { content, is_error };
      return { sort: `tool ${call} 2`, ...{ type: event.type, ...told } };
    }
    case "drover.call_started": {
      const call = names.get(event.private.call_id) ?? "";
      return { sort: `tool ${call} 1`, ...{ type: event.type } };
    }
    case "span.model_request_end": {
      const { input_tokens, output_tokens, ...cached } = event.public.model_usage;
      const input = Object.values({ input_tokens, ...cached }).reduce(
        (sum: number, count) => sum + (typeof count === "number" ? count : 0),
        0,
      );
      const usage = unknown.size > 0 ? {} : { input, output: output_tokens };
      return { sort: "", ...{ type: event.type, ...usage } };
    }
    case "session.usage":
      return { sort: "", ...{ type: event.type } };
    default:
      return { sort: "", ...{ type: event.type, public: event.public } };
  }
}

/** The same with each id of an event or a thread as what it is the id of. */
function withoutIds(
  entries: readonly unknown[],
  events: readonly LogEvent[],
  names: ReadonlyMap<string, string>,
): readonly unknown[] {
  const told = new Map<string, string>();
  for (const event of events) {
    told.set(event.thread_id, "the thread");
    told.set(event.id, `${event.type} ${names.get(event.id) ?? ""}`);
  }
  const text = JSON.stringify(entries, (_key, value: unknown) =>
    typeof value === "string" ? (told.get(value) ?? value) : value,
  );
  return JSON.parse(text);
}

/** Sorts each run of neighbouring events of calls, and leaves the rest in its place. */
function sortedRuns(entries: readonly { sort: string }[]): readonly unknown[] {
  const sorted: { sort: string }[] = [];
  let run: { sort: string }[] = [];
  const endRun = () => {
    sorted.push(...run.toSorted((left, right) => left.sort.localeCompare(right.sort)));
    run = [];
  };
  for (const entry of entries) {
    if (entry.sort !== "") {
      run.push(entry);
      continue;
    }
    endRun();
    sorted.push(entry);
  }
  endRun();
  return sorted;
}

function gaps(events: readonly LogEvent[]): readonly string[] {
  return events.flatMap((event, index) =>
    event.seq === index + 1 ? [] : [`event ${index + 1} has seq ${event.seq}`],
  );
}

function unanswered(events: readonly LogEvent[]): readonly string[] {
  const answeredRequests = new Set(
    events.flatMap((event) =>
      event.type === "span.model_request_end" && event.private.outcome === "response"
        ? [event.public.model_request_start_id]
        : [],
    ),
  );
  // The calls of a response that was cut off were never to be run.
  const uses = events.filter((event) => {
    return isCall(event) && answeredRequests.has(event.private.request);
  });
  const waiting = waitingCalls(events);
  return uses.flatMap(({ id }) => {
    const results = events.filter((event) => {
      if (event.type === "user.custom_tool_result") return event.public.custom_tool_use_id === id;
      return isToolResult(event) && answeredBy(event) === id;
    });
    if (results.length === 0 && waiting.has(id)) return [];
    return results.length === 1 ? [] : [`call ${id} has ${results.length} results`];
  });
}

/** The calls that need no result yet: those the client is waited for, and those allowed that queue behind. */
function waitingCalls(events: readonly LogEvent[]): ReadonlySet<string> {
  const last = events.at(-1);
  if (last?.type !== "session.status_idle") return new Set();
  const { stop_reason: reason } = last.public;
  if (reason.type !== "requires_action") return new Set();
  const allowed = events.flatMap((event) =>
    event.type === "user.tool_confirmation" ? [event.public.tool_use_id] : [],
  );
  return new Set([...reason.event_ids, ...allowed]);
}

function openRequests(events: readonly LogEvent[]): readonly string[] {
  const starts = events.filter((event) => event.type === "span.model_request_start");
  return starts.flatMap(({ id }) => {
    const ends = events.filter((event) => {
      return event.type === "span.model_request_end" && event.public.model_request_start_id === id;
    });
    return ends.length === 1 ? [] : [`request ${id} has ${ends.length} ends`];
  });
}

function times(events: readonly LogEvent[]): readonly string[] {
  return events.flatMap((event, index) => {
    const before = events[index - 1];
    return before === undefined || before.processed_at <= event.processed_at
      ? []
      : [`event ${event.seq} is older than the one before`];
  });
}
