import { join } from "node:path";
import { useCurrentKey } from "../app/encryption.ts";
import type { Config } from "../config.ts";
import type { RotatingSecretBox } from "../core/ports/secret-box.ts";
import type { Store } from "../core/ports/store.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { isThere, type KeyFile, openKeyFile } from "../vault/key-file.ts";

export interface Encryption {
  readonly box: RotatingSecretBox;
  /** Undefined where the keys are a setting. */
  readonly keyFile: KeyFile | undefined;
}

/**
 * Opens the box with the keys of the settings, or of the data folder's file, which is made only if
 * nothing is encrypted yet. Rejects with an `OperatorError` if a key is not usable or one is missing.
 */
export async function openEncryption(
  config: Config,
  store: Pick<Store, "write" | "encryptionKeys">,
): Promise<Encryption> {
  const path = join(config.data, "encryption-keys");
  const given = config.encryptionKeys;
  const inUse = await store.encryptionKeys.list();
  if (given === undefined && inUse.length > 0 && !isThere(path)) {
    throw new OperatorError(
      `The database holds encrypted secrets and there is no key file ${path}; copy the file from the server that made it or from a backup, or set DROVER_ENCRYPTION_KEY to its key.`,
    );
  }
  const keyFile = given === undefined ? await openKeyFile(path) : undefined;
  const box = createEnvelopeBox(keyFile ?? givenKeys(given ?? [], "DROVER_ENCRYPTION_KEY"));
  const source = keyFile === undefined ? "DROVER_ENCRYPTION_KEY" : `the key file ${path}`;
  await store.write((tx) => useCurrentKey(tx, box, source));
  return { box, keyFile };
}
