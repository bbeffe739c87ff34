import type { Secret } from "../../lib/secret.ts";

/**
 * Turns secrets into text that may be stored, and back. Synchronous, so that it can be used within a
 * transaction of the store.
 *
 * What every implementation promises (proved by `secret-box.testsuite.ts`):
 * - The same secret sealed twice gives two different texts; neither tells more than its length.
 * - A sealed text opens under the binding that it was sealed with and under no other, so that one that
 *   was moved to another row or field does not open.
 * - A text that was changed in any place does not open.
 * - No error holds the secret, the sealed text or a key.
 */
export interface SecretBox {
  /** `binding` names the place where the text is kept, such as `wrkspc_1/vcrd_1/secrets`. */
  seal(plain: Secret, binding: string): string;
  /** Throws a plain `Error` for what was not sealed for this place, or under a key that is gone. */
  open(sealed: string, binding: string): Secret;
}

/** A `SecretBox` whose keys change, while what it has sealed stays readable. */
export interface RotatingSecretBox extends SecretBox {
  /** The id of the key under which `seal` seals now. */
  currentKeyId(): string;
  /** The ids of all keys that it can open with, the current one first. */
  keyIds(): readonly string[];
  /**
   * The same secret and binding under the current key, without opening the secret itself; the text as it
   * is if it is under that key already. Throws as `open` does.
   */
  renew(sealed: string): string;
}
