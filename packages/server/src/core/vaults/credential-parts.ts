import type { CredentialAuth } from "@drover/api";

/** The secrets of a credential by their names on the wire, such as `access_token`. */
export type CredentialSecrets = Readonly<Record<string, string>>;

/** What is stored of `auth`: what may be answered, and what may not. */
export interface CredentialParts {
  readonly auth: CredentialAuth;
  /** All secrets of a new credential; of an updated one those that changed. */
  readonly secrets: CredentialSecrets;
}

/** Those secrets that were sent. */
export function given(
  secrets: Readonly<Record<string, string | null | undefined>>,
): CredentialSecrets {
  const sent = Object.entries(secrets).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(sent);
}
