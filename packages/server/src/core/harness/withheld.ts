import type { DocumentBlock, ImageBlock, ResultBlock, TextBlock } from "@drover/api";
import type { LogEvent, LogEventOf } from "../session/log-event.ts";

/** What came from outside and may hold media. */
export type MediaEvent = LogEventOf<
  "user.message" | "user.custom_tool_result" | "agent.tool_result" | "agent.mcp_tool_result"
>;

/** Characters of an API's reason that the model is told. */
const REASON_LENGTH_MAX = 300;

/**
 * The same events with a sentence in the place of each block that was withheld, because the model's API
 * had refused it: it would refuse every later request as well.
 */
export function withoutWithheld(events: readonly LogEvent[]): readonly LogEvent[] {
  const withheld = new Map<string, Map<number, string>>();
  for (const event of events) {
    if (event.type !== "drover.content_withheld") continue;
    const { event_id, places, message } = event.private;
    const reasons = withheld.get(event_id) ?? new Map<number, string>();
    for (const place of places) reasons.set(place, message);
    withheld.set(event_id, reasons);
  }
  if (withheld.size === 0) return events;
  return events.map((event) => {
    const reasons = withheld.get(event.id);
    if (reasons === undefined || !mayHoldMedia(event)) return event;
    return withBlocks(event, (block, place) => {
      const reason = reasons.get(place);
      return reason === undefined || !isMedia(block) ? block : placeholder(block, reason);
    });
  });
}

export function mayHoldMedia(event: LogEvent): event is MediaEvent {
  return (
    event.type === "user.message" ||
    event.type === "user.custom_tool_result" ||
    event.type === "agent.tool_result" ||
    event.type === "agent.mcp_tool_result"
  );
}

export function isMedia(block: ResultBlock): block is ImageBlock | DocumentBlock {
  return block.type === "image" || block.type === "document";
}

/** The event with other blocks in the same places. */
export function withBlocks(
  event: MediaEvent,
  change: (block: ResultBlock, place: number) => ResultBlock,
): LogEvent {
  const content = (event.public.content ?? []).map(change);
  // A block is exchanged for another that its event may hold, which the union cannot follow.
  return { ...event, public: { ...event.public, content } } as LogEvent;
}

function placeholder(block: ImageBlock | DocumentBlock, reason: string): TextBlock {
  const what = block.type === "image" ? "An image" : "A document";
  const said = reason.slice(0, REASON_LENGTH_MAX).toWellFormed();
  const text = `[${what} was here, which the model's API refused: ${said}]`;
  return { type: "text", text };
}
