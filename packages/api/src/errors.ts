import { z } from "zod";

/** The error types a client may branch on (SDK 1.14.0 `ErrorType`, plus `request_too_large` for 413). */
export const ErrorType = z.enum([
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "timeout_error",
  "api_error",
  "overloaded_error",
  "memory_precondition_failed_error",
  "memory_path_conflict_error",
  "conflict_error",
]);
export type ErrorType = z.infer<typeof ErrorType>;

/** What every response outside 2xx carries. */
export const ErrorBody = z.object({
  type: z.literal("error"),
  request_id: z.string().nullable(),
  error: z.looseObject({
    type: ErrorType,
    message: z.string(),
    details: z.looseObject({ error_code: z.string() }).optional(),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;
