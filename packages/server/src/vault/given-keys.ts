import { OperatorError } from "../lib/operator-error.ts";
import type { Secret } from "../lib/secret.ts";
import { type EncryptionKey, readEncryptionKey } from "./encryption-key.ts";
import type { KeyRing } from "./envelope-box.ts";

/**
 * The keys that a setting or a file holds as text, the first of them to seal with. Throws an
 * `OperatorError` that names `source`, and no key, if there is none or one of them is not usable.
 */
export function givenKeys(texts: readonly Secret[], source: string): KeyRing {
  const [first, ...rest] = texts.map((text, index) => {
    const key = readEncryptionKey(text);
    if (key !== undefined) return key;
    throw new OperatorError(
      `Key ${index + 1} of ${texts.length} in ${source} is not usable: it must be 32 random bytes in base64, as \`openssl rand -base64 32\` makes them.`,
    );
  });
  if (first === undefined) throw new OperatorError(`There is no key in ${source}.`);
  const keys: readonly [EncryptionKey, ...EncryptionKey[]] = [first, ...rest];
  if (new Set(keys.map(({ id }) => id)).size < keys.length) {
    throw new OperatorError(`A key is in ${source} twice; leave one of them out.`);
  }
  return { keys: () => keys };
}
