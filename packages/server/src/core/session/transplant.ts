import type { EventType, LogEvent } from "./log-event.ts";

/** Fields that hold what models, tools and clients said: an id in there is text and no reference. */
const FOREIGN: ReadonlySet<string> = new Set([
  "agent",
  "blocks",
  "content",
  "error",
  "input",
  "mcp_server_name",
  "message",
  "metadata",
  "servers",
  "summary",
  "system",
  "title",
  "tool",
]);

/** What is said of other sessions. */
const OTHERS: ReadonlySet<EventType> = new Set([
  "drover.forked",
  "drover.hand_passed",
  "drover.hand_taken",
]);

const REFERENCE = /^(?:sevt|sthr|sesn)_[!-~]+$/;

/**
 * The event as it stands in another session's log: its own id, its thread's and every reference to an
 * event, a thread or the session go through `rename`; everything else is kept, in the order it has.
 * Where a log names another session, as the one it was forked from, that stays.
 */
export function transplanted(event: LogEvent, rename: (id: string) => string): LogEvent {
  const isOrigin = OTHERS.has(event.type);
  return {
    ...event,
    id: rename(event.id),
    thread_id: rename(event.thread_id),
    public: renamed(event.public, rename),
    private: isOrigin ? event.private : renamed(event.private, rename),
    // Only strings were exchanged for strings, which the union cannot follow.
  } as LogEvent;
}

function renamed(value: unknown, rename: (id: string) => string): unknown {
  if (typeof value === "string") return REFERENCE.test(value) ? rename(value) : value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      FOREIGN.has(key) ? item : renamed(item, rename),
    ]),
  );
}
