import {
  type HostOffers,
  permits,
  type RequestTarget,
  repositoryOf,
} from "../../../core/egress/host-offers.ts";
import type {
  CredentialUse,
  SessionCredentials,
  VariableOffer,
} from "../../../core/ports/session-credentials.ts";
import { withSecretsInside } from "./body-secrets.ts";
import { type Headers, placeholdersIn, withSecrets } from "./header-secrets.ts";

/** No server could be asked for a secret that a request needs. The message is a sentence without any. */
export class SecretUnavailableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SecretUnavailableError";
  }
}

export interface RequestGiven extends RequestTarget {
  readonly headers: Headers;
  /** Whether it came by TLS. */
  readonly isSecure: boolean;
}

export interface RequestPlace {
  readonly credentials: SessionCredentials;
  readonly offers: HostOffers;
  /** Whom it is sent to. */
  readonly host: string;
  readonly signal: AbortSignal;
}

/** Puts into one request what is the session's to use there, and nothing else. */
export class RequestSecrets {
  readonly #place: RequestPlace;
  readonly #given: RequestGiven;
  /** By placeholder. */
  readonly #permitted: ReadonlyMap<string, VariableOffer>;
  readonly #released = new Map<string, Promise<string | undefined>>();

  constructor(place: RequestPlace, given: RequestGiven) {
    this.#place = place;
    this.#given = given;
    this.#permitted = new Map(
      place.offers.variables
        .filter(({ binding }) => permits(binding, given, given.headers))
        .map((offer) => [offer.placeholder, offer]),
    );
  }

  /** Rejects with `SecretUnavailableError` and `UnfitSecretError`. */
  async headers(): Promise<Headers> {
    const { headers, isSecure, path } = this.#given;
    const secrets = new Map<string, string>();
    for (const placeholder of placeholdersIn(headers)) {
      const secret = await this.#secretOf(placeholder, "header");
      if (secret !== undefined) secrets.set(placeholder, secret);
    }
    const filled = withSecrets(headers, secrets);
    const repository = isSecure ? repositoryOf(this.#place.offers.repositories, path) : undefined;
    if (repository === undefined) return filled;
    const token = await this.#release(repository.resource_id, "git");
    if (token === undefined) return filled;
    const pair = Buffer.from(`x-access-token:${token}`).toString("base64");
    return [
      ...filled.filter(([name]) => name.toLowerCase() !== "authorization"),
      ["authorization", `Basic ${pair}`],
    ];
  }

  /** The body with what is put into it; undefined where that is nothing. Rejects as `headers` does. */
  body(body: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> | undefined {
    const isAny = [...this.#permitted.values()].some(
      ({ injection_location }) => injection_location.body,
    );
    if (!isAny) return undefined;
    return withSecretsInside(body, (placeholder) => this.#secretOf(placeholder, "body"));
  }

  async #secretOf(placeholder: string, place: "header" | "body"): Promise<string | undefined> {
    const offer = this.#permitted.get(placeholder);
    if (offer === undefined || !offer.injection_location[place]) return undefined;
    return await this.#release(offer.credential_id, "egress");
  }

  /** Asked for once, however often it is put in. */
  #release(id: string, purpose: CredentialUse["purpose"]): Promise<string | undefined> {
    const before = this.#released.get(id);
    if (before !== undefined) return before;
    const { credentials, host, signal } = this.#place;
    const use = { id, host, purpose };
    const released = credentials.release(use, signal).then((answer) => {
      if (answer.type === "unavailable") throw new SecretUnavailableError(answer.message);
      if (answer.type === "refused") return undefined;
      credentials.used(use, 1);
      return answer.secret.reveal();
    });
    this.#released.set(id, released);
    return released;
  }
}
