import { z } from "zod";

/** How ids begin. Everything after the prefix is opaque. */
export const idPrefixes = {
  agent: "agent_",
  environment: "env_",
  session: "sesn_",
  thread: "sthr_",
  resource: "sesrsc_",
  event: "sevt_",
  file: "file_",
  hand: "hand_",
  apiKey: "apikey_",
  workspace: "wrkspc_",
  request: "req_",
} as const;

/** An id as it comes from outside: bounded, printable ASCII without blanks. */
export const Id = z.string().regex(/^[!-~]{1,128}$/, "must be an id");
export type Id = z.infer<typeof Id>;
