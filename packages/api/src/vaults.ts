import { z } from "zod";
import { Metadata, MetadataPatch } from "./metadata.ts";
import { archivedQuery, pageQuery } from "./pagination.ts";
import { nonEmptyText } from "./text.ts";

/** Vaults (wire §9). */

const displayNameMax = 255;

export const VaultCreateParams = z.strictObject({
  display_name: nonEmptyText(displayNameMax),
  metadata: Metadata.optional(),
});

/** Null is as leaving the field out. */
export const VaultUpdateParams = z.strictObject({
  display_name: nonEmptyText(displayNameMax).nullish(),
  metadata: MetadataPatch.nullish(),
});

export const Vault = z.object({
  id: z.string(),
  type: z.literal("vault"),
  display_name: z.string(),
  metadata: z.record(z.string(), z.string()),
  created_at: z.string(),
  updated_at: z.string(),
  archived_at: z.string().nullable(),
});

export const VaultDeleted = z.object({ id: z.string(), type: z.literal("vault_deleted") });

export const VaultListQuery = z.strictObject({ ...pageQuery, ...archivedQuery });

export type VaultCreateParams = z.infer<typeof VaultCreateParams>;
export type VaultUpdateParams = z.infer<typeof VaultUpdateParams>;
export type Vault = z.infer<typeof Vault>;
export type VaultDeleted = z.infer<typeof VaultDeleted>;
export type VaultListQuery = z.infer<typeof VaultListQuery>;
