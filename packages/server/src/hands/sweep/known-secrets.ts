import type { SessionCredentials } from "../../core/ports/session-credentials.ts";
import type { Secret } from "../../lib/secret.ts";
import { SecretMask } from "../../lib/secret-mask.ts";

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
