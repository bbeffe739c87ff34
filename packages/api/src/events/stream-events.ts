import { z } from "zod";
import { TextBlock } from "../content.ts";

/** What only streams say: previews of an event in the making (wire §7). They are kept nowhere. */

const EventPreview = z.object({
  type: z.enum(["agent.message", "agent.thinking"]),
  /** The id that the event will have. */
  id: z.string(),
});

export const EventStart = z.object({ type: z.literal("event_start"), event: EventPreview });

export const EventDelta = z.object({
  type: z.literal("event_delta"),
  event_id: z.string(),
  delta: z.object({
    type: z.literal("content_delta"),
    content: TextBlock,
    /** Of the content block; 0 where it is absent. */
    index: z.number().int().exactOptional(),
  }),
});
