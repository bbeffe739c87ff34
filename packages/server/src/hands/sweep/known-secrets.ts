import type { SessionCredentials } from "../../core/ports/session-credentials.ts";
import type { Secret } from "../../lib/secret.ts";
import { SecretMask } from "../../lib/secret-mask.ts";

const shared = new WeakMap<object, KnownSecrets>();

/** The same for all who look through what is a session's: a mask of many secrets takes milliseconds to be made. */
export function knownSecretsOf(credentials: Pick<SessionCredentials, "known">): KnownSecrets {
  const known = shared.get(credentials) ?? new KnownSecrets(credentials);
  shared.set(credentials, known);
  return known;
}

/** What masks all that was given out for a session; made anew when there is more of it. */
export class KnownSecrets {
  readonly #credentials: Pick<SessionCredentials, "known">;
  #known: readonly Secret[] = [];
  #mask = new SecretMask([]);

  constructor(credentials: Pick<SessionCredentials, "known">) {
    this.#credentials = credentials;
  }

  /** As it is now: the same one as long as nothing came up. */
  get mask(): SecretMask {
    const known = this.#credentials.known();
    const isSame =
      known.length === this.#known.length &&
      known.every((secret, index) => {
        const before = this.#known[index];
        return secret === before || secret.reveal() === before?.reveal();
      });
    if (!isSame) this.#mask = new SecretMask(known.map((secret) => secret.reveal()));
    this.#known = known;
    return this.#mask;
  }
}
