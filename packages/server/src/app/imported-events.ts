import { describeProblems, SessionEvent } from "@drover/api";
import { z } from "zod";
import { InvalidRequestError } from "../core/errors.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { privatePart, publicPart } from "../core/session/private-parts.ts";
import { upcast } from "../core/session/upcast.ts";
import { toWire } from "../core/session/wire.ts";
import { EventLine } from "../core/sessions/session-file.ts";
import type { RawEvent } from "./session-file-reader.ts";

/** Clocks differ a little; a log far ahead of its server's would hold back the time of all that follows. */
const AHEAD_MS = 60_000;

const NOTHING = z.strictObject({});

/** What an event is checked against besides its own type. */
export interface LogContext {
  readonly threadId: string;
  /** The event's place in the log. */
  readonly seq: number;
  /** When the event before was processed; empty for the first. */
  readonly after: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * An event of a session's file as the log has it, if it is one that this version could have written:
 * nothing of it may later keep the session from being folded, shown or sent to a model.
 */
export function importedEvent(
  raw: RawEvent,
  { threadId, seq, after, nowMs }: LogContext,
): LogEvent {
  const refuse = (problem: string, cause?: unknown) =>
    new InvalidRequestError(`${raw.place}: ${problem}`, { cause });
  const { success, data, error } = EventLine.safeParse(raw.value);
  if (!success) throw refuse(describeProblems(error));
  if (data.thread_id !== threadId) throw refuse("thread_id: is not the session's own thread");
  if (data.processed_at < after) throw refuse("processed_at: is before that of the event before");
  if (Date.parse(data.processed_at) > nowMs + AHEAD_MS) throw refuse("processed_at: is to come");
  const event = upcasted(raw.value as EventLine, seq, refuse);
  const shape = event.type.startsWith("drover.") ? NOTHING : SessionEvent;
  const shown = shape === NOTHING ? event.public : toWire(event);
  const problems = [
    shape.safeParse(shown).error,
    publicPart(event.type).safeParse(event.public).error,
    privatePart(event.type).safeParse(event.private).error,
  ].filter((one) => one !== undefined);
  for (const one of problems) throw refuse(`${event.type}: ${describeProblems(one)}`);
  if (event.type === "agent.thread_context_compacted" && event.private.kept_from > seq) {
    throw refuse(`${event.type}: kept_from: is behind the event, whose place is ${seq}`);
  }
  return event;
}

/** As it was received: the schemas would put its fields into their own order. */
function upcasted(
  line: EventLine,
  seq: number,
  refuse: (problem: string, cause: unknown) => InvalidRequestError,
): LogEvent {
  const { id, type, thread_id, cross_posted, v, processed_at, epoch } = line;
  const envelope = { id, type, thread_id, cross_posted, v, processed_at, epoch, seq };
  try {
    return upcast({ ...envelope, public: line.public, private: line.private });
  } catch (cause) {
    throw refuse(cause instanceof Error ? cause.message : "is no event", cause);
  }
}
