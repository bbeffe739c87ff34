import { InvalidRequestError } from "../errors.ts";
import { PROVIDER_NAMES, type ProviderName } from "./providers.ts";

/** The providers that a server has; the first is for environments that name none. */
export type ServerProviders = readonly [ProviderName, ...ProviderName[]];

/** Of a server whose operator chose none. */
export const DEFAULT_PROVIDERS: ServerProviders = ["bubblewrap"];

/** In an environment's metadata: whose sandboxes its sessions get. */
const KEY = "drover.provider";

/**
 * Who makes the sandboxes of an environment's new sessions. Throws `InvalidRequestError`, which names the
 * field, for what is no provider and for one that this server has not.
 */
export function chosenProvider(
  metadata: Readonly<Record<string, string>>,
  providers: ServerProviders = DEFAULT_PROVIDERS,
): ProviderName {
  const asked = metadata[KEY];
  if (asked === undefined) return providers[0];
  const known = PROVIDER_NAMES.find((name) => name === asked);
  if (known === undefined) {
    throw new InvalidRequestError(
      `metadata.${KEY}: ${JSON.stringify(asked.slice(0, 100))} is no provider of sandboxes: it may be ${PROVIDER_NAMES.join(", ")}`,
    );
  }
  if (!providers.includes(known)) {
    throw new InvalidRequestError(
      `metadata.${KEY}: this server makes no sandboxes with ${known}, only with ${providers.join(", ")} (DROVER_SANDBOX_PROVIDER)`,
    );
  }
  return known;
}
