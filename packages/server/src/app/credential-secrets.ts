import { z } from "zod";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { CredentialRecord } from "../core/ports/vaults.ts";
import type { CredentialSecrets } from "../core/vaults/credential-parts.ts";
import { Secret } from "../lib/secret.ts";

/** All secrets of a credential as one sealed text, which opens for it alone. */
export function sealedSecrets(
  secretBox: SecretBox,
  record: CredentialRecord,
  secrets: CredentialSecrets,
): string {
  return secretBox.seal(new Secret(JSON.stringify(secrets)), bindingOf(record));
}

/** Whoever calls this holds secrets in the clear: never a process that also makes prompts, in the end. */
export function openedSecrets(
  secretBox: SecretBox,
  record: CredentialRecord,
  sealed: string,
): CredentialSecrets {
  const opened = secretBox.open(sealed, bindingOf(record)).reveal();
  return z.record(z.string(), z.string()).parse(JSON.parse(opened));
}

function bindingOf({ workspace_id, id }: CredentialRecord): string {
  return `${workspace_id}/${id}/secrets`;
}
