import { z } from "zod";
import { Id } from "./ids.ts";

/** A session's sandbox as a thing of its own: beyond the contract, under `/v1/drover`. */
export const SessionHand = z.object({
  id: z.string(),
  type: z.literal("session_hand"),
  session_id: z.string(),
  /** False until the first call in it was sent. */
  is_used: z.boolean(),
  /** Of the data folder that has its files; null for one that was not used. */
  installation_id: z.string().nullable(),
  /** The newest that is kept of its files in the blob store. */
  checkpoint: z
    .object({
      size_bytes: z.number().int().nonnegative(),
      taken_at: z.string(),
      /** The last call whose changes are in it. */
      tool_use_id: z.string().nullable(),
      /** False if calls were answered since. */
      is_current: z.boolean(),
    })
    .nullable(),
  /** Why its files could not be kept as they are. */
  problem: z.string().nullable(),
});

/** The session that is to have the hand. */
export const SessionHandPassParams = z.strictObject({ to_session_id: Id });

export type SessionHand = z.infer<typeof SessionHand>;
export type SessionHandPassParams = z.infer<typeof SessionHandPassParams>;
