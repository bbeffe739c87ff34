import { z } from "zod";
import {
  CredentialAuth,
  CredentialAuthParams,
  CredentialAuthUpdateParams,
} from "./credential-auth.ts";
import { Metadata, MetadataPatch } from "./metadata.ts";
import { archivedQuery, pageQuery } from "./pagination.ts";
import { nonEmptyText, text } from "./text.ts";

/** The credentials of a vault (wire §9). */

const displayNameMax = 255;

export const CredentialCreateParams = z.strictObject({
  auth: CredentialAuthParams,
  display_name: text(displayNameMax).nullish(),
  metadata: Metadata.optional(),
});

/** Null is as leaving the field out. */
export const CredentialUpdateParams = z.strictObject({
  auth: CredentialAuthUpdateParams.optional(),
  display_name: nonEmptyText(displayNameMax).nullish(),
  metadata: MetadataPatch.nullish(),
});

export const Credential = z.object({
  id: z.string(),
  type: z.literal("vault_credential"),
  vault_id: z.string(),
  display_name: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  auth: CredentialAuth,
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const CredentialDeleted = z.object({
  id: z.string(),
  type: z.literal("vault_credential_deleted"),
});

/** What a server answered in a validation; secrets are taken out of the body. */
const CredentialHttpResponse = z.object({
  status_code: z.int(),
  content_type: z.string(),
  body: z.string(),
  body_truncated: z.boolean(),
});

/** Whether an OAuth credential works, found out by trying it (wire §9). */
export const CredentialValidation = z.object({
  type: z.literal("vault_credential_validation"),
  credential_id: z.string(),
  vault_id: z.string(),
  validated_at: z.string(),
  has_refresh_token: z.boolean(),
  status: z.enum(["valid", "invalid", "unknown"]),
  /** The step that failed; null if none did, or there was no token to try. */
  mcp_probe: z
    .object({ method: z.string(), http_response: CredentialHttpResponse.nullable() })
    .nullable(),
  /** Null if no refresh was due. */
  refresh: z
    .object({
      status: z.enum(["succeeded", "failed", "connect_error", "no_refresh_token"]),
      http_response: CredentialHttpResponse.nullable(),
    })
    .nullable(),
});

export const CredentialListQuery = z.strictObject({ ...pageQuery, ...archivedQuery });

export type CredentialCreateParams = z.infer<typeof CredentialCreateParams>;
export type CredentialUpdateParams = z.infer<typeof CredentialUpdateParams>;
export type Credential = z.infer<typeof Credential>;
export type CredentialDeleted = z.infer<typeof CredentialDeleted>;
export type CredentialHttpResponse = z.infer<typeof CredentialHttpResponse>;
export type CredentialValidation = z.infer<typeof CredentialValidation>;
export type CredentialListQuery = z.infer<typeof CredentialListQuery>;
