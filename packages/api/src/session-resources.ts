import { z } from "zod";
import { Id } from "./ids.ts";
import { nonEmptyText, text } from "./text.ts";

/** What is mounted into a session (wire §5.1, §5.2, §5.6). */

const mountPathMax = 1024;

const BranchCheckout = z.strictObject({ type: z.literal("branch"), name: nonEmptyText(255) });
const CommitCheckout = z.strictObject({
  type: z.literal("commit"),
  sha: z.string().regex(/^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/, "must be a commit's full hash"),
});
export const Checkout = z.discriminatedUnion("type", [BranchCheckout, CommitCheckout]);

export const FileResourceParams = z.strictObject({
  type: z.literal("file"),
  file_id: Id,
  mount_path: nonEmptyText(mountPathMax).nullish(),
});
export const GithubRepositoryResourceParams = z.strictObject({
  type: z.literal("github_repository"),
  url: nonEmptyText(2048),
  authorization_token: nonEmptyText(4096).optional(),
  checkout: Checkout.nullish(),
  mount_path: nonEmptyText(mountPathMax).nullish(),
});
export const MemoryStoreResourceParams = z.strictObject({
  type: z.literal("memory_store"),
  memory_store_id: Id,
  access: z.enum(["read_write", "read_only"]).nullish(),
  instructions: text(4096).nullish(),
});
export const SessionResourceParams = z.discriminatedUnion("type", [
  FileResourceParams,
  GithubRepositoryResourceParams,
  MemoryStoreResourceParams,
]);

const resource = {
  id: z.string(),
  mount_path: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
};
export const FileResource = z.object({
  type: z.literal("file"),
  file_id: z.string(),
  ...resource,
});
export const GithubRepositoryResource = z.object({
  type: z.literal("github_repository"),
  url: z.string(),
  checkout: Checkout.nullable().exactOptional(),
  ...resource,
});
export const MemoryStoreResource = z.object({
  type: z.literal("memory_store"),
  memory_store_id: z.string(),
  access: z.enum(["read_write", "read_only"]).nullable().exactOptional(),
  instructions: z.string().nullable().exactOptional(),
  name: z.string().nullable().exactOptional(),
  description: z.string().exactOptional(),
  mount_path: z.string().nullable().exactOptional(),
});
export const SessionResource = z.discriminatedUnion("type", [
  FileResource,
  GithubRepositoryResource,
  MemoryStoreResource,
]);

export const SessionResourceUpdateParams = z.strictObject({
  authorization_token: nonEmptyText(4096),
});
export const SessionResourceDeleted = z.object({
  id: z.string(),
  type: z.literal("session_resource_deleted"),
});

export type Checkout = z.infer<typeof Checkout>;
export type FileResourceParams = z.infer<typeof FileResourceParams>;
export type GithubRepositoryResourceParams = z.infer<typeof GithubRepositoryResourceParams>;
export type MemoryStoreResourceParams = z.infer<typeof MemoryStoreResourceParams>;
export type SessionResourceParams = z.infer<typeof SessionResourceParams>;
export type FileResource = z.infer<typeof FileResource>;
export type GithubRepositoryResource = z.infer<typeof GithubRepositoryResource>;
export type MemoryStoreResource = z.infer<typeof MemoryStoreResource>;
export type SessionResource = z.infer<typeof SessionResource>;
export type SessionResourceUpdateParams = z.infer<typeof SessionResourceUpdateParams>;
export type SessionResourceDeleted = z.infer<typeof SessionResourceDeleted>;
