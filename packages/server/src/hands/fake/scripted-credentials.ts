import type {
  CredentialOffer,
  CredentialOffers,
  CredentialRelease,
  CredentialUse,
  SessionCredentials,
} from "../../core/ports/session-credentials.ts";
import { Secret } from "../../lib/secret.ts";

/** Credentials of one session that a test sets, and changes while they are used. */
export class ScriptedCredentials implements SessionCredentials {
  readonly #held = new Map<string, { offer: CredentialOffer; secret: string }>();
  readonly #known = new Map<string, Secret>();
  /** What `renew` gives in place of a refused secret, by the id of the credential. */
  readonly renewals = new Map<string, string>();
  /** Every release, in order. */
  readonly uses: CredentialUse[] = [];
  /** Requests that were counted, by id and host. */
  readonly counts = new Map<string, number>();
  /** While it is set, no server can be asked. */
  unavailable: string | undefined;

  set(offer: CredentialOffer, secret: string): void {
    this.#held.set(idOf(offer), { offer, secret });
  }

  remove(id: string): void {
    this.#held.delete(id);
  }

  async offers(): Promise<CredentialOffers> {
    if (this.unavailable !== undefined) return { type: "unavailable", message: this.unavailable };
    return { type: "offers", offers: [...this.#held.values()].map(({ offer }) => offer) };
  }

  async release(use: CredentialUse): Promise<CredentialRelease> {
    if (this.unavailable !== undefined) return { type: "unavailable", message: this.unavailable };
    const held = this.#held.get(use.id);
    if (held === undefined) return { type: "refused", message: `the session has no ${use.id}` };
    this.uses.push(use);
    const secret = new Secret(held.secret);
    this.#known.set(held.secret, secret);
    return { type: "released", secret };
  }

  async renew(use: CredentialUse, rejected: Secret): Promise<CredentialRelease> {
    const held = this.#held.get(use.id);
    const renewed = this.renewals.get(use.id);
    if (held !== undefined && held.secret === rejected.reveal() && renewed !== undefined) {
      this.#held.set(use.id, { ...held, secret: renewed });
      this.renewals.delete(use.id);
    } else if (held?.secret === rejected.reveal()) {
      return { type: "refused", message: "there is no other token" };
    }
    return await this.release(use);
  }

  used({ id, host }: CredentialUse, requests: number): void {
    const key = `${id} ${host}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + requests);
  }

  known(): readonly Secret[] {
    return [...this.#known.values()];
  }
}

function idOf(offer: CredentialOffer): string {
  return offer.type === "repository" ? offer.resource_id : offer.credential_id;
}
