import { createHash } from "node:crypto";
import type { ModelRequest } from "../../core/ports/model.ts";

/** What every server takes; ours may be longer, and models make names up. */
const USABLE = /^[a-zA-Z0-9_-]{1,64}$/;
const READABLE_CHARS = 55;
const HASH_CHARS = 8;

/** The name a tool is sent under: its own, if that can be sent. The same for the same name always. */
export function sentName(name: string): string {
  if (USABLE.test(name)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_CHARS);
  return `${name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, READABLE_CHARS)}_${hash}`;
}

/** From what a tool of the request was sent under back to its name. */
export function namesBack({ tools }: Pick<ModelRequest, "tools">): (sent: string) => string {
  const names = new Map(tools.map(({ name }) => [sentName(name), name]));
  return (sent) => names.get(sent) ?? sent;
}
