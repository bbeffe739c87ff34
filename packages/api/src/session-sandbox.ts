import { z } from "zod";

/** What a session's last sandbox was made as: beyond the contract, under `/v1/drover`. */

/** `enforced` is false where the machine had nothing to enforce the limit with. */
const Limit = z.object({ limit: z.number().positive(), enforced: z.boolean() });

/** Null for what has no limit. */
export const SandboxLimitFacts = z.object({
  memory_bytes: Limit.nullable(),
  cpus: Limit.nullable(),
  processes: Limit,
  open_files: Limit,
  file_bytes: Limit,
  disk_bytes: Limit.nullable(),
});

export const SessionSandbox = z.object({
  type: z.literal("session_sandbox"),
  provider: z.string(),
  /** `root`: a user of the host of its own. */
  mode: z.enum(["root", "rootless"]),
  limits: SandboxLimitFacts,
  /** The first call that was run in it. */
  tool_use_id: z.string(),
  /** When the result of that call was known. */
  processed_at: z.string(),
});

export type SessionSandbox = z.infer<typeof SessionSandbox>;
