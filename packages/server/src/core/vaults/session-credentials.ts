import { CredentialAuth } from "@drover/api";
import type { CredentialRecord } from "../ports/vaults.ts";

/** A credential as a session has it. */
export interface SessionCredential {
  readonly record: CredentialRecord;
  readonly auth: CredentialAuth;
}

/**
 * The credentials that a session has, of all that are active in its vaults: where two are for the same variable or
 * server, that of the vault which comes first in `vaultIds`.
 */
export function sessionCredentials(
  vaultIds: readonly string[],
  active: readonly CredentialRecord[],
): readonly SessionCredential[] {
  const byKey = new Map<string, CredentialRecord>();
  for (const vaultId of vaultIds) {
    for (const record of active) {
      if (record.vault_id === vaultId && !byKey.has(record.auth_key)) {
        byKey.set(record.auth_key, record);
      }
    }
  }
  return [...byKey.values()].map((record) => ({ record, auth: CredentialAuth.parse(record.auth) }));
}
