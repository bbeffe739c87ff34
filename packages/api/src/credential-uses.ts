import { z } from "zod";
import { Id } from "./ids.ts";
import { pageQuery } from "./pagination.ts";

/** Who used which credential for whom, and what a credential may be used for: beyond the contract, under `/v1/drover`. */

const Count = z.number().int().nonnegative();

/** All uses of one kind within a minute. Never the secret. */
export const CredentialUse = z.object({
  id: z.string(),
  type: z.literal("credential_use"),
  /** Null for a validation that a key asked for. */
  session_id: z.string().nullable(),
  /** The key that made the session, or that asked for the validation. */
  api_key_id: z.string().nullable(),
  /** Null for the token of a session's repository. */
  vault_id: z.string().nullable(),
  /** Of the credential, or of the repository among the session's resources. */
  credential_id: z.string(),
  host: z.string(),
  purpose: z.enum(["egress", "mcp", "git", "validation"]),
  verdict: z.enum(["released", "refused"]),
  reason: z.string().nullable(),
  /** How often the secret was asked for. */
  releases: Count,
  /** How many requests it was put into, as far as that was told. */
  requests: Count,
  first_at: z.string(),
  last_at: z.string(),
});
export type CredentialUse = z.infer<typeof CredentialUse>;

export const CredentialUseListQuery = z.strictObject({
  ...pageQuery,
  session_id: Id.optional(),
  credential_id: Id.optional(),
});
export type CredentialUseListQuery = z.infer<typeof CredentialUseListQuery>;

const PARTS_MAX = 64;
const Method = z
  .string()
  .regex(/^[A-Z]{1,32}$/, "must be a method of HTTP in capitals, such as GET");
const PathPattern = z
  .string()
  .max(1_024)
  .regex(/^\/[!-~]*$/, "must be a path that begins with /")
  .refine((path) => !/[?#]/.test(path) && !/\*(?!$)|[^/]\*$/.test(path), {
    message: "must be a path without a query, with a * only as its last part",
  });

/** Replaces what there is; what is null or left out binds nothing. */
export const CredentialBindingParams = z.strictObject({
  methods: z.array(Method).min(1).max(PARTS_MAX).nullish(),
  paths: z.array(PathPattern).min(1).max(PARTS_MAX).nullish(),
});
export type CredentialBindingParams = z.infer<typeof CredentialBindingParams>;

/** The requests that an `environment_variable` credential may be put into; null for all. */
export const CredentialBinding = z.object({
  type: z.literal("credential_binding"),
  credential_id: z.string(),
  vault_id: z.string(),
  methods: z.array(z.string()).nullable(),
  paths: z.array(z.string()).nullable(),
});
export type CredentialBinding = z.infer<typeof CredentialBinding>;
