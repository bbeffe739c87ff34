import { z } from "zod";
import { Id } from "./ids.ts";
import { pageQuery, queryArray } from "./pagination.ts";

/** Files (wire §12). */

export const fileIdsMax = 100;

export const FileMetadata = z.object({
  id: z.string(),
  type: z.literal("file"),
  filename: z.string(),
  mime_type: z.string(),
  size_bytes: z.number(),
  created_at: z.string(),
  /** Only what an agent made can be downloaded; what a user uploaded cannot. */
  downloadable: z.boolean(),
  expires_at: z.string().nullable(),
  scope: z.object({ type: z.literal("session"), id: z.string() }).nullable(),
});

export const FileDeleted = z.object({ id: z.string(), type: z.literal("file_deleted") });

/** `ids` excludes `limit` and `page`; the bound on ids holds after duplicates are removed. */
export const FileListQuery = z
  .strictObject({
    ...pageQuery,
    scope_id: Id.optional(),
    ids: queryArray(Id, fileIdsMax * 2)
      .transform((ids) => [...new Set(ids)])
      .pipe(z.array(Id).max(fileIdsMax))
      .optional(),
  })
  .refine(
    (query) => query.ids === undefined || (query.limit === undefined && query.page === undefined),
    "ids cannot be combined with limit or page",
  );

/** The text fields of an upload's multipart body. */
export const FileUploadFields = z.strictObject({
  expires_in_seconds: z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(3600).max(7_776_000))
    .optional(),
});

export type FileMetadata = z.infer<typeof FileMetadata>;
export type FileDeleted = z.infer<typeof FileDeleted>;
export type FileListQuery = z.infer<typeof FileListQuery>;
export type FileUploadFields = z.infer<typeof FileUploadFields>;
