import type { LineWritten, LoggedEvent, SessionSnapshot } from "./snapshot.ts";
import { markOf } from "./turns.ts";

/** A message that a client has tried to send. */
export interface Sent {
  readonly sessionId: string;
  readonly mark: string;
  /** The id of its event if the server has acknowledged it. */
  readonly eventId: string | undefined;
}

/** Times in the log are cut to milliseconds. */
const CLOCK_SLACK_MS = 2;
/** The calls of a turn that is given up are told to end and not waited for. */
const GIVEN_UP_SLACK_MS = 1_000;

/**
 * What must be true of a session that is at rest, whatever was killed when. Returns a sentence for each
 * rule that is broken.
 */
export function brokenRules(session: SessionSnapshot, sent: readonly Sent[]): readonly string[] {
  const { events, lines } = session;
  const broken = [
    ...atRest(session),
    ...order(session),
    ...requests(events),
    ...sent.flatMap((message) => answered(events, message)),
    ...calls(events).flatMap((call) => ranOnce(call, lines)),
    ...unknownLines(events, lines),
  ];
  return broken.map((sentence) => `${session.id}: ${sentence}`);
}

function atRest({ status, isDue, waiting, events }: SessionSnapshot): readonly string[] {
  // An interrupt that finds nothing to interrupt is recorded, and starts no turn.
  const last = events.findLast(({ type }) => type !== "user.interrupt");
  return [
    ...(status === "idle" ? [] : [`its status is ${status}`]),
    ...(isDue ? ["it is due"] : []),
    ...(waiting === 0 ? [] : [`${waiting} events wait to be taken up`]),
    ...(last === undefined || last.type === "session.status_idle"
      ? []
      : [`its log ends with ${last.type}`]),
  ];
}

function order({ events, lastSeq }: SessionSnapshot): readonly string[] {
  const broken = lastSeq === events.length ? [] : [`${events.length} events, last seq ${lastSeq}`];
  let epoch = 0;
  for (const [index, event] of events.entries()) {
    if (event.seq !== index + 1) broken.push(`event ${index + 1} has seq ${event.seq}`);
    const before = events[index - 1];
    if (before !== undefined && before.processedAt > event.processedAt) {
      broken.push(`event ${event.seq} is older than the one before`);
    }
    if (event.epoch === 0) continue;
    if (event.epoch < epoch)
      broken.push(`event ${event.seq} has epoch ${event.epoch} after ${epoch}`);
    epoch = Math.max(epoch, event.epoch);
  }
  return broken;
}

function requests(events: readonly LoggedEvent[]): readonly string[] {
  const ends = Map.groupBy(
    events.filter((event) => event.type === "span.model_request_end"),
    (event) => event.body["model_request_start_id"],
  );
  const starts = events.filter((event) => event.type === "span.model_request_start");
  return starts.flatMap(({ id }) => {
    const count = ends.get(id)?.length ?? 0;
    return count === 1 ? [] : [`request ${id} has ${count} ends`];
  });
}

/** Once in the log if it was acknowledged, else at most once; and then something came of it. */
function answered(events: readonly LoggedEvent[], sent: Sent): readonly string[] {
  const { mark, eventId } = sent;
  const found = events.filter((event) => {
    return event.type === "user.message" && JSON.stringify(event.body).includes(`Message ${mark}.`);
  });
  const [message] = found;
  if (found.length > 1) return [`message ${mark} was taken up ${found.length} times`];
  if (message === undefined) {
    return eventId === undefined ? [] : [`message ${mark} was acknowledged and is lost`];
  }
  if (eventId !== undefined && message.id !== eventId) {
    return [`message ${mark} was acknowledged as ${eventId} and is ${message.id}`];
  }
  const after = events.slice(message.seq);
  const isAnswered = after.some((event) => ANSWERS.has(event.type));
  return isAnswered || isFlushed(events, message) ? [] : [`message ${mark} was not answered`];
}

/** Input that waits while a turn is given up is taken up after the error that tells of it. */
function isFlushed(events: readonly LoggedEvent[], message: LoggedEvent): boolean {
  const end = events.find(({ type, seq }) => type === "session.status_idle" && seq > message.seq);
  const reason = end?.body["stop_reason"];
  const isExhausted = JSON.stringify(reason)?.includes("retries_exhausted") ?? false;
  const turn = events
    .slice(0, message.seq)
    .findLastIndex(({ type }) => type === "session.status_running");
  const isTold = events.slice(turn, message.seq).some(({ type }) => type === "session.error");
  return isExhausted && isTold;
}

const ANSWERS = new Set(["agent.message", "session.error", "user.interrupt"]);

export interface LoggedCall {
  readonly id: string;
  /** Of the command, if it is one that adds a line. */
  readonly mark: string | undefined;
  readonly starts: number;
  readonly results: readonly LoggedEvent[];
}

export function calls(events: readonly LoggedEvent[]): readonly LoggedCall[] {
  const results = Map.groupBy(
    events.filter((event) => event.type === "agent.tool_result"),
    (event) => String(event.body["tool_use_id"]),
  );
  const starts = Map.groupBy(
    events.filter((event) => event.type === "drover.call_started"),
    (event) => String(event.origin["call_id"]),
  );
  const uses = events.filter((event) => event.type === "agent.tool_use");
  return uses.map(({ id, body }) => {
    const input = body["input"];
    const command = typeof input === "object" && input !== null && "command" in input;
    return {
      id,
      mark: command ? markOf(String(input.command)) : undefined,
      starts: starts.get(id)?.length ?? 0,
      results: results.get(id) ?? [],
    };
  });
}

/** How a call ended, as a word for the tally. */
export function endingOf({ results }: LoggedCall): string {
  const [result] = results;
  if (result === undefined) return "unanswered";
  const reason = String(result.origin["reason"]);
  return reason === "executed" && result.body["is_error"] === true ? "executed_error" : reason;
}

function ranOnce(call: LoggedCall, lines: readonly LineWritten[]): readonly string[] {
  const { id, mark, starts, results } = call;
  const [result] = results;
  if (result === undefined || results.length > 1) {
    return [`call ${id} (${mark}) has ${results.length} results`];
  }
  if (starts > 1) return [`call ${id} (${mark}) was journalled ${starts} times`];
  if (mark === undefined) return [];
  const written = lines.filter((line) => line.mark === mark);
  const ending = endingOf(call);
  if (written.length > 1) return [`${mark} ran ${written.length} times (${ending})`];
  if (starts === 0 && written.length > 0) return [`${mark} ran and was never journalled`];
  if (ending === "executed" && written.length === 0) return [`${mark} is answered and never ran`];
  const lateMs = (written[0]?.atMs ?? 0) - Date.parse(result.processedAt);
  return lateMs > (ending === "turn_failed" ? GIVEN_UP_SLACK_MS : CLOCK_SLACK_MS)
    ? [`${mark} wrote ${Math.round(lateMs)} ms after its answer (${ending})`]
    : [];
}

function unknownLines(
  events: readonly LoggedEvent[],
  lines: readonly LineWritten[],
): readonly string[] {
  const known = new Set(calls(events).map(({ mark }) => mark));
  return lines.flatMap(({ mark }) => (known.has(mark) ? [] : [`${mark} ran and is in no log`]));
}
