import type { SecretBox } from "../core/ports/secret-box.ts";
import type { SealedSecrets } from "../core/ports/vaults.ts";
import type { CredentialSecrets } from "../core/vaults/credential-parts.ts";
import { secretBinding } from "../core/vaults/secret-binding.ts";
import { Secret } from "../lib/secret.ts";

/** Each secret of a credential as a text of its own, which opens for its place alone. */
export function sealedSecrets(
  secretBox: Pick<SecretBox, "seal">,
  credential: { readonly workspace_id: string; readonly id: string },
  secrets: CredentialSecrets,
): SealedSecrets {
  return Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [
      name,
      secretBox.seal(new Secret(value), secretBinding(credential, name)),
    ]),
  );
}
