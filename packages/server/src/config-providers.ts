import { z } from "zod";

/** Names with a meaning of their own: that of `DROVER_MODEL_BASE_URL`, and the models that ship. */
const RESERVED_NAMES = ["default", "offline"];
/** What the client sets itself, or the connection. */
const RESERVED_HEADERS = [
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "host",
  "transfer-encoding",
  "x-api-key",
];

/** Where a secret is: it never stands in the file itself. */
const SecretPlace = z.union(
  [
    z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/) }),
    z.strictObject({ file: z.string().min(1).max(4_096) }),
  ],
  "must be { env: NAME }, an environment variable, or { file: PATH }; a key does not stand in this file",
);

export type SecretPlace = z.output<typeof SecretPlace>;

const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,128}$/, "must be the name of a header")
  .refine((name) => !RESERVED_HEADERS.includes(name.toLowerCase()), {
    error: "is set by Drover itself; a key goes into api_key",
  });

const HeaderValue = z.union(
  [z.string().regex(/^[\t -~]{0,4096}$/), SecretPlace],
  "must be printable text, { env: NAME } or { file: PATH }",
);

const common = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "must be small letters, digits, - and _")
    .refine((name) => !RESERVED_NAMES.includes(name), { error: "is a reserved name" }),
  base_url: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .refine(isBare, { error: "must have no user, password, query or fragment" }),
  api_key: SecretPlace.optional(),
  headers: z.record(HeaderName, HeaderValue).default({}),
  silence_ms: z.number().int().min(100).max(3_600_000).optional(),
};

/** What a server of the chat completions API may refuse to take, and can do without. */
const LEAVABLE = ["stream_options", "parallel_tool_calls", "max_tokens"] as const;

/** One API that runs models. */
export const ProviderSettings = z.discriminatedUnion(
  "kind",
  [
    z.strictObject({ kind: z.literal("messages"), ...common }),
    z.strictObject({
      kind: z.literal("chat_completions"),
      ...common,
      leave_out: z.array(z.enum(LEAVABLE)).default([]),
      max_tokens_field: z.enum(["max_tokens", "max_completion_tokens"]).default("max_tokens"),
      send_reasoning_as: z.enum(["reasoning_content", "reasoning"]).optional(),
    }),
  ],
  'kind must be "messages" or "chat_completions"',
);

export type ProviderSettings = z.output<typeof ProviderSettings>;

function isBare(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { username, password, search, hash } = new URL(value);
  return `${username}${password}${search}${hash}` === "";
}
