import type { InboxEvent, LogEvent } from "./log-event.ts";

/** An event as clients see it. `processed_at` is null while it waits to be taken up. */
export type WireEvent = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly type: string;
  readonly processed_at: string | null;
};

export function toWire(event: LogEvent | InboxEvent): WireEvent {
  return {
    id: event.id,
    type: event.type,
    ...event.public,
    processed_at: "processed_at" in event ? event.processed_at : null,
  };
}
