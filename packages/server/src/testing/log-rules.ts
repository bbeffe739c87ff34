import type { LogEvent } from "../core/session/log-event.ts";
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
    ...(events.at(-1)?.type === "session.status_idle" ? [] : ["the log does not end in idle"]),
  ];
}

/** The log without what may differ between two runs of which one was killed: lost requests, ids, times, the order of parallel results. */
export function comparableLog(events: readonly LogEvent[]): readonly unknown[] {
  const lost = new Set(
    events.flatMap((event) =>
      event.type === "span.model_request_end" && event.private.outcome === "lost"
        ? [event.id, event.public.model_request_start_id]
        : [],
    ),
  );
  const names = new Map<string, string>();
  for (const event of events) {
    if (isCall(event)) names.set(event.id, JSON.stringify(event.public.input));
  }
  const kept = events.filter((event) => !lost.has(event.id));
  return sortedRuns(kept.map((event) => comparable(event, names)));
}

const NO_CALL: { tool_use_id?: string; custom_tool_use_id?: string } = {};

function isCall(event: LogEvent) {
  return event.type === "agent.tool_use" || event.type === "agent.custom_tool_use";
}

function comparable(event: LogEvent, names: ReadonlyMap<string, string>): { sort: string } {
  switch (event.type) {
    case "agent.tool_result": {
      const call = names.get(event.public.tool_use_id) ?? "";
      const { content, is_error } = event.public;
      return { sort: `tool ${call} 2`, ...{ type: event.type, content, is_error } };
    }
    case "drover.call_started": {
      const call = names.get(event.private.call_id) ?? "";
      return { sort: `tool ${call} 1`, ...{ type: event.type } };
    }
    case "span.model_request_end":
      return { sort: "", ...{ type: event.type, usage: event.public.model_usage } };
    case "user.tool_confirmation":
    case "user.custom_tool_result": {
      const { tool_use_id, custom_tool_use_id, ...said } = { ...NO_CALL, ...event.public };
      const call = names.get(tool_use_id ?? custom_tool_use_id ?? "") ?? "";
      return { sort: "", ...{ type: event.type, call, said } };
    }
    case "session.thread_status_idle":
    case "session.status_idle": {
      const { stop_reason } = event.public;
      if (stop_reason.type !== "requires_action") break;
      const calls = stop_reason.event_ids.map((id) => names.get(id) ?? "");
      return { sort: "", ...{ type: event.type, calls } };
    }
    case "session.usage":
      return { sort: "", ...{ type: event.type } };
    default:
      break;
  }
  return { sort: "", ...{ type: event.type, public: event.public } };
}

/** Sorts each run of neighbouring tool events, and leaves the rest in its place. */
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
    const isUse = event.type === "agent.tool_use" || event.type === "agent.custom_tool_use";
    return isUse && answeredRequests.has(event.private.request);
  });
  const waiting = waitingCalls(events);
  return uses.flatMap(({ id }) => {
    const results = events.filter((event) => {
      if (event.type === "user.custom_tool_result") return event.public.custom_tool_use_id === id;
      return event.type === "agent.tool_result" && event.public.tool_use_id === id;
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
