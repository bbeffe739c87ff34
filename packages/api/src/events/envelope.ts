import { z } from "zod";

/** What every event of the server has beside its type (wire §6.1). */
export const serverEvent = { id: z.string(), processed_at: z.string() };

/** What every event of a client has: its time is null while it waits to be taken up. */
export const clientEvent = {
  id: z.string(),
  processed_at: z.string().nullable().exactOptional(),
};

/** The child thread that an event of the session's stream is of; absent for the primary thread. */
export const ofChild = { session_thread_id: z.string().nullable().exactOptional() };
