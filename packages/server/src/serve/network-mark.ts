import type { Config } from "../config.ts";

/** The same text for settings that let sandboxes reach the same. */
export function networkMark({
  egressAllow,
  sandboxNetwork,
}: Pick<Config, "egressAllow" | "sandboxNetwork">): string {
  return JSON.stringify([sandboxNetwork, ...[...new Set(egressAllow)].sort()]);
}
