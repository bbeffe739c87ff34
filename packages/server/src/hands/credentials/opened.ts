import type { SealedOAuth, SealedSecret } from "../../core/ports/credential-broker.ts";
import type { SecretBox } from "../../core/ports/secret-box.ts";
import type { CredentialSecrets } from "../../core/vaults/credential-parts.ts";
import type { Secret } from "../../lib/secret.ts";

export function openedSecret(
  secretBox: Pick<SecretBox, "open">,
  { sealed, binding }: SealedSecret,
): Secret {
  return secretBox.open(sealed, binding);
}

/** All secrets of a credential, by name. */
export function openedSecrets(
  secretBox: Pick<SecretBox, "open">,
  { secrets }: Pick<SealedOAuth, "secrets">,
): CredentialSecrets {
  return Object.fromEntries(
    Object.entries(secrets).map(([name, each]) => [name, openedSecret(secretBox, each).reveal()]),
  );
}
