import type { LogEvent } from "../session/log-event.ts";
import { toWire } from "../session/wire.ts";

/** Characters of one text of an event. */
const TEXT_CHARS_MAX = 4_000;
/** Characters of a base64 text, which nobody reads. */
const DATA_CHARS_MAX = 200;

/** True if an event is for a model that looks back: not its thinking, and not its looking back. */
export function isShown(event: LogEvent): boolean {
  switch (event.type) {
    case "agent.thinking":
      return false;
    case "agent.tool_use":
      return event.private.run_by !== "loop";
    case "agent.tool_result":
      return event.private.reason !== "looked_back";
    default:
      return !event.type.startsWith("drover.");
  }
}

/** True if a text of the event has `query` (in small letters) in it. */
export function hasText(event: LogEvent, query: string): boolean {
  return textsOf(event.public).some((text) => text.toLowerCase().includes(query));
}

/** Characters of its texts. */
export function textLength(event: LogEvent): number {
  return textsOf(event.public).reduce((sum, text) => sum + text.length, 0);
}

/** The event as clients see it, with its position, on one line; long texts shortened. */
export function shownEvent(event: LogEvent, query: string | undefined): string {
  return JSON.stringify({ seq: event.seq, ...toWire(event) }, (_key, value: unknown) =>
    typeof value === "string" ? shortened(value, query) : value,
  );
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

function shortened(text: string, query: string | undefined): string {
  if (text.length <= TEXT_CHARS_MAX) return text;
  if (/^[A-Za-z0-9+/=]+$/.test(text.slice(0, 1_000))) {
    return `${text.slice(0, DATA_CHARS_MAX)} (${text.length - DATA_CHARS_MAX} characters left out)`;
  }
  const found = query === undefined ? -1 : text.toLowerCase().indexOf(query);
  const from = Math.max(0, Math.min(found - TEXT_CHARS_MAX / 2, text.length - TEXT_CHARS_MAX));
  const part = text.slice(from, from + TEXT_CHARS_MAX).toWellFormed();
  const after = text.length - from - TEXT_CHARS_MAX;
  return [
    ...(from > 0 ? [`(${from} characters left out) `] : []),
    part,
    ...(after > 0 ? [` (${after} characters left out)`] : []),
  ].join("");
}
