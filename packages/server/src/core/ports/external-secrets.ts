import type { Secret } from "../../lib/secret.ts";

/**
 * Secrets that an operator keeps outside of the server, each workspace's apart.
 *
 * What every implementation promises (proved by `external-secrets.testsuite.ts`):
 * - It gives a workspace its own secrets and no other's, as they are now.
 * - It never rejects, ends within ten seconds or with the signal, and no message holds what it read.
 */
export interface ExternalSecrets {
  /** `name` as in an `ExternalReference`. */
  read(workspaceId: string, name: string, signal: AbortSignal): Promise<ExternalSecret>;
}

export type ExternalSecret =
  | { readonly type: "secret"; readonly secret: Secret }
  /** A sentence. */
  | { readonly type: "unavailable"; readonly message: string };
