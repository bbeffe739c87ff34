import { SessionEvent } from "@drover/api";
import type { EventType } from "../core/session/log-event.ts";

/** What `types[]` of the event list takes: every persisted type of the contract but `session.deleted`. */
const LISTED_TYPES: ReadonlySet<string> = new Set(
  SessionEvent.options
    .map(({ shape }) => shape.type.value)
    .filter((type) => type !== "session.deleted"),
);

/** Types of the contract that no event of this version has match nothing, and are no error. */
export function isListedType(type: string): type is EventType {
  return LISTED_TYPES.has(type);
}
