import { z } from "zod";

/** How ids begin: the prefix, `_`, and what follows is opaque. */
export const idPrefixes = {
  agent: "agent",
  environment: "env",
  session: "sesn",
  thread: "sthr",
  resource: "sesrsc",
  event: "sevt",
  file: "file",
  memoryStore: "memstore",
  memory: "mem",
  memoryVersion: "memver",
  skill: "skill",
  skillVersion: "skver",
  hand: "hand",
  vault: "vlt",
  credential: "vcrd",
  credentialUse: "vuse",
  apiKey: "apikey",
  workspace: "wrkspc",
  request: "req",
} as const;

/** An id as it comes from outside: bounded, printable ASCII without blanks. */
export const Id = z.string().regex(/^[!-~]{1,128}$/, "must be an id");
export type Id = z.infer<typeof Id>;
