import { z } from "zod";
import { pageQuery, queryInteger } from "./pagination.ts";
import { nonEmptyText, text } from "./text.ts";

/** Memories: texts at paths of a memory store (wire §10). */

/** Bytes of UTF-8. */
export const memoryContentBytesMax = 102_400;
/** Bytes of UTF-8. */
export const memoryPathBytesMax = 1024;

/** Neither has more UTF-16 units than bytes; what else holds for them the server's core tells. */
const Content = text(memoryContentBytesMax);
const Path = nonEmptyText(memoryPathBytesMax);
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lowercase hexadecimal digits");

/** Whether `content` is in the answer: `full`, or null in its place. */
export const MemoryView = z.enum(["basic", "full"]);

export const MemoryCreateParams = z.strictObject({
  path: Path,
  /** Null is an empty text. */
  content: Content.nullable(),
});

export const MemoryPrecondition = z.strictObject({
  type: z.literal("content_sha256"),
  /** The contract's types let it be left out; a request without it is refused. */
  content_sha256: Sha256.optional(),
});

export const MemoryUpdateParams = z.strictObject({
  content: Content.nullish(),
  path: Path.nullish(),
  precondition: MemoryPrecondition.nullish(),
});

export const Memory = z.object({
  id: z.string(),
  type: z.literal("memory"),
  memory_store_id: z.string(),
  memory_version_id: z.string(),
  path: z.string(),
  content: z.string().nullable(),
  content_sha256: z.string(),
  content_size_bytes: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
});

/** All memories below a folder, in a list that goes no deeper. */
export const MemoryPrefix = z.object({
  type: z.literal("memory_prefix"),
  /** Ends with `/`. */
  path: z.string(),
});

export const MemoryListItem = z.discriminatedUnion("type", [Memory, MemoryPrefix]);

export const MemoryDeleted = z.object({ id: z.string(), type: z.literal("memory_deleted") });

const viewQuery = { view: MemoryView.optional() };

/** `view` alone: a query parameter, also of POSTs. */
export const MemoryViewQuery = z.strictObject(viewQuery);

export const MemoryListQuery = z.strictObject({
  ...pageQuery,
  ...viewQuery,
  depth: queryInteger(0, 1).optional(),
  path_prefix: nonEmptyText(memoryPathBytesMax + 1).optional(),
});

export const MemoryDeleteQuery = z.strictObject({ expected_content_sha256: Sha256.optional() });

export type MemoryView = z.infer<typeof MemoryView>;
export type MemoryCreateParams = z.infer<typeof MemoryCreateParams>;
export type MemoryPrecondition = z.infer<typeof MemoryPrecondition>;
export type MemoryUpdateParams = z.infer<typeof MemoryUpdateParams>;
export type Memory = z.infer<typeof Memory>;
export type MemoryPrefix = z.infer<typeof MemoryPrefix>;
export type MemoryListItem = z.infer<typeof MemoryListItem>;
export type MemoryDeleted = z.infer<typeof MemoryDeleted>;
export type MemoryViewQuery = z.infer<typeof MemoryViewQuery>;
export type MemoryListQuery = z.infer<typeof MemoryListQuery>;
export type MemoryDeleteQuery = z.infer<typeof MemoryDeleteQuery>;
