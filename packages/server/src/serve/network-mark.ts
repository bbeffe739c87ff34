import { createHash } from "node:crypto";
import type { Config } from "../config.ts";

/** The same text for settings that let sandboxes and web tools reach the same. */
export function networkMark({
  egressAllow,
  sandboxNetwork,
  search,
}: Pick<Config, "egressAllow" | "sandboxNetwork" | "search">): string {
  const names = [...new Set(egressAllow)].sort();
  return JSON.stringify([sandboxNetwork, ...names, ...(search ? [searchMark(search)] : [])]);
}

/** A digest, for the key is no text to be written anywhere. */
function searchMark({ provider, url, key }: NonNullable<Config["search"]>): string {
  const text = JSON.stringify([provider, url, key?.reveal() ?? null]);
  return `search ${createHash("sha256").update(text).digest("hex")}`;
}
