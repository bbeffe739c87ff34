import { z } from "zod";

/** What a `session.error` tells (wire §6.5). */

export const RetryStatus = z.object({ type: z.enum(["retrying", "exhausted", "terminal"]) });

const sessionError = { message: z.string(), retry_status: RetryStatus };

export const TurnError = z.object({
  type: z.enum([
    "unknown_error",
    "model_overloaded_error",
    "model_rate_limited_error",
    "model_request_failed_error",
    "billing_error",
    "tool_use_limit_reached_error",
    "compaction_limit_reached_error",
  ]),
  ...sessionError,
});

export const McpServerError = z.object({
  type: z.enum(["mcp_connection_failed_error", "mcp_authentication_failed_error"]),
  mcp_server_name: z.string(),
  ...sessionError,
});

export const CredentialError = z.object({
  type: z.literal("credential_host_unreachable_error"),
  credential_id: z.string(),
  vault_id: z.string(),
  ...sessionError,
});

export const RepositoryError = z.object({
  type: z.enum([
    "repository_authentication_error",
    "repository_forbidden_error",
    "repository_not_found_error",
    "repository_checkout_error",
    "repository_clone_error",
  ]),
  repository_url: z.string().nullable(),
  ...sessionError,
});

export const SessionErrorObject = z.discriminatedUnion("type", [
  TurnError,
  McpServerError,
  CredentialError,
  RepositoryError,
]);

export type TurnError = z.infer<typeof TurnError>;
export type SessionErrorObject = z.infer<typeof SessionErrorObject>;
