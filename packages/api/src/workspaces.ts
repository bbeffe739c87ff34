import { z } from "zod";
import { Id } from "./ids.ts";
import { pageQuery } from "./pagination.ts";
import { nonEmptyText } from "./text.ts";

/** Workspaces and the keys to them: beyond the contract, under `/v1/drover`. */

const nameMax = 256;

/** `admin` may everything, `developer` all but workspaces and keys, `read_only` only read. */
export const KeyRole = z.enum(["admin", "developer", "read_only"]);

export const WorkspaceCreateParams = z.strictObject({ name: nonEmptyText(nameMax) });
export const Workspace = z.object({
  id: z.string(),
  type: z.literal("workspace"),
  name: z.string(),
  created_at: z.string(),
});

/** Without `workspace_id`, the caller's own workspace is meant. */
export const ApiKeyCreateParams = z.strictObject({
  name: nonEmptyText(nameMax),
  role: KeyRole,
  workspace_id: Id.nullish(),
});
export const ApiKey = z.object({
  id: z.string(),
  type: z.literal("api_key"),
  workspace_id: z.string(),
  name: z.string(),
  role: KeyRole,
  created_at: z.string(),
  revoked_at: z.string().nullable(),
});
/** The key itself is in this answer and nowhere else. */
export const ApiKeyCreated = ApiKey.extend({ key: z.string() });

export const ApiKeyQuery = z.strictObject({ workspace_id: Id.optional() });
export const ApiKeyListQuery = z.strictObject({ ...pageQuery, ...ApiKeyQuery.shape });

export type KeyRole = z.infer<typeof KeyRole>;
export type WorkspaceCreateParams = z.infer<typeof WorkspaceCreateParams>;
export type Workspace = z.infer<typeof Workspace>;
export type ApiKeyCreateParams = z.infer<typeof ApiKeyCreateParams>;
export type ApiKey = z.infer<typeof ApiKey>;
export type ApiKeyCreated = z.infer<typeof ApiKeyCreated>;
export type ApiKeyQuery = z.infer<typeof ApiKeyQuery>;
export type ApiKeyListQuery = z.infer<typeof ApiKeyListQuery>;
