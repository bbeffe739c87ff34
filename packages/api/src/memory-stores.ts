import { z } from "zod";
import { Metadata, MetadataPatch } from "./metadata.ts";
import { archivedQuery, createdWithinQuery, pageQuery } from "./pagination.ts";
import { nonEmptyText, text } from "./text.ts";

/** Memory stores (wire §10); what they hold is in `memories.ts` and `memory-versions.ts`. */

const descriptionMax = 1024;

const Name = nonEmptyText(255).regex(/^\P{Cc}*$/u, "must not contain control characters");

export const MemoryStoreCreateParams = z.strictObject({
  name: Name,
  description: text(descriptionMax).optional(),
  metadata: Metadata.optional(),
});

export const MemoryStoreUpdateParams = z.strictObject({
  name: Name.nullish(),
  /** Null is as left out; an empty text clears it. */
  description: text(descriptionMax).nullish(),
  metadata: MetadataPatch.nullish(),
});

export const MemoryStore = z.object({
  id: z.string(),
  type: z.literal("memory_store"),
  name: z.string(),
  /** Empty when there is none. */
  description: z.string(),
  metadata: z.record(z.string(), z.string()),
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const MemoryStoreDeleted = z.object({
  id: z.string(),
  type: z.literal("memory_store_deleted"),
});

export const MemoryStoreListQuery = z.strictObject({
  ...pageQuery,
  ...archivedQuery,
  ...createdWithinQuery,
});

export type MemoryStoreCreateParams = z.infer<typeof MemoryStoreCreateParams>;
export type MemoryStoreUpdateParams = z.infer<typeof MemoryStoreUpdateParams>;
export type MemoryStore = z.infer<typeof MemoryStore>;
export type MemoryStoreDeleted = z.infer<typeof MemoryStoreDeleted>;
export type MemoryStoreListQuery = z.infer<typeof MemoryStoreListQuery>;
