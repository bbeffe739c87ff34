import { z } from "zod";
import { Id } from "./ids.ts";
import { MemoryView } from "./memories.ts";
import { createdWithinQuery, pageQuery } from "./pagination.ts";

/** The history of a store's memories (wire §10). */

/** Who did something, as it was then: the id may be of something that is gone. */
export const Actor = z.discriminatedUnion("type", [
  z.object({ type: z.literal("api_actor"), api_key_id: z.string() }),
  z.object({ type: z.literal("session_actor"), session_id: z.string() }),
  z.object({ type: z.literal("user_actor"), user_id: z.string() }),
  z.object({ type: z.literal("service_account_actor"), service_account_id: z.string() }),
]);

export const MemoryOperation = z.enum(["created", "modified", "deleted"]);

export const MemoryVersion = z.object({
  id: z.string(),
  type: z.literal("memory_version"),
  memory_store_id: z.string(),
  memory_id: z.string(),
  operation: MemoryOperation,
  /** Null if, and only if, the version was redacted. */
  path: z.string().nullable(),
  content: z.string().nullable(),
  content_sha256: z.string().nullable(),
  content_size_bytes: z.number().nullable(),
  created_at: z.string(),
  created_by: Actor,
  redacted_at: z.string().nullable(),
  redacted_by: Actor.exactOptional(),
});

export const MemoryVersionListQuery = z.strictObject({
  ...pageQuery,
  ...createdWithinQuery,
  view: MemoryView.optional(),
  memory_id: Id.optional(),
  operation: MemoryOperation.optional(),
  api_key_id: Id.optional(),
  session_id: Id.optional(),
  service_account_id: Id.optional(),
});

export type Actor = z.infer<typeof Actor>;
export type MemoryOperation = z.infer<typeof MemoryOperation>;
export type MemoryVersion = z.infer<typeof MemoryVersion>;
export type MemoryVersionListQuery = z.infer<typeof MemoryVersionListQuery>;
