import { z } from "zod";
import { Id } from "./ids.ts";
import { createdRangeQuery, orderQuery, pageQuery, queryArray } from "./pagination.ts";

/** Reading a session's events (wire §6.8, §7). */

const eventTypesMax = 100;
const eventDeltasMax = 100;

/** `after` and `before` are event ids, and an extension of the contract. */
export const EventListQuery = z.strictObject({
  ...pageQuery,
  ...createdRangeQuery,
  ...orderQuery,
  types: queryArray(z.string().min(1).max(64), eventTypesMax).optional(),
  after: Id.optional(),
  before: Id.optional(),
});

export const EventStreamQuery = z.strictObject({
  event_deltas: queryArray(z.enum(["agent.message", "agent.thinking"]), eventDeltasMax).optional(),
});

export type EventListQuery = z.infer<typeof EventListQuery>;
export type EventStreamQuery = z.infer<typeof EventStreamQuery>;
