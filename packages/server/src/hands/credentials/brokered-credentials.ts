import type { Clock } from "../../core/ports/clock.ts";
import type { CredentialAnswer, SealedOAuth } from "../../core/ports/credential-broker.ts";
import type { ExternalSecret, ExternalSecrets } from "../../core/ports/external-secrets.ts";
import type { SecretBox } from "../../core/ports/secret-box.ts";
import type {
  CredentialOffers,
  CredentialRelease,
  CredentialSource,
  CredentialUse,
  SessionCredentials,
  SessionGrant,
} from "../../core/ports/session-credentials.ts";
import { externalReference, type SecretManager } from "../../core/vaults/external-reference.ts";
import { Secret } from "../../lib/secret.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { openedSecret, openedSecrets } from "./opened.ts";
import type { AskServer } from "./question-box.ts";
import type { RefreshOutcome, TokenExchanger } from "./token-exchanger.ts";

/** How long an answer of the server holds, in milliseconds. */
const HOLDS_MS = 1_000;
/** Uses whose answers are kept at a time; a program may make up hosts for ever. */
const USES_MAX = 1_000;
/** Between two reports of how many requests there were. */
const COUNTED_MS = 5_000;
/** A token that expires so soon is refreshed before it is used. */
const EXPIRES_SOON_MS = 60_000;
const SESSIONS_MAX = 10_000;
/** Of one session; tokens of an hour, for a month. */
const KNOWN_MAX = 1_000;

export interface BrokeredCredentialsOptions {
  readonly ask: AskServer;
  readonly secretBox: Pick<SecretBox, "open">;
  readonly exchanger: Pick<TokenExchanger, "refresh">;
  /** Who has the secrets that are kept elsewhere. */
  readonly external?: ExternalManagers;
  readonly clock: Clock;
}

export type ExternalManagers = { readonly [M in SecretManager]?: ExternalSecrets };

const NO_SERVER = { type: "unavailable", message: "no server answers" } as const;

/** Credentials that a server hands out, sealed, and that are opened here. */
export class BrokeredCredentials implements CredentialSource {
  readonly #options: BrokeredCredentialsOptions;
  readonly #sessions = new Map<string, BrokeredSession>();

  constructor(options: BrokeredCredentialsOptions) {
    this.#options = options;
  }

  of(session: SessionGrant): SessionCredentials {
    const key = JSON.stringify([session.workspaceId, session.sessionId, session.grant]);
    const found = this.#sessions.get(key) ?? new BrokeredSession(session, this.#options);
    this.#sessions.delete(key);
    this.#sessions.set(key, found);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > SESSIONS_MAX && oldest !== undefined) this.#sessions.delete(oldest);
    return found;
  }
}

/** An answer that is waited for by all who asked the same. */
interface Answer<T> {
  readonly value: Promise<T>;
  readonly untilMs: number;
}

class BrokeredSession implements SessionCredentials {
  readonly #session: SessionGrant;
  readonly #options: BrokeredCredentialsOptions;
  readonly #known = new Map<string, Secret>();
  readonly #releases = new Map<string, Answer<CredentialRelease>>();
  readonly #counts = new Map<string, { readonly use: CredentialUse; requests: number }>();
  #offers: Answer<CredentialOffers> | undefined;
  #isCounting = false;

  constructor(session: SessionGrant, options: BrokeredCredentialsOptions) {
    this.#session = session;
    this.#options = options;
  }

  async offers(signal: AbortSignal): Promise<CredentialOffers> {
    const nowMs = this.#options.clock.now();
    if (this.#offers === undefined || this.#offers.untilMs <= nowMs) {
      this.#offers = { value: this.#askOffers(), untilMs: nowMs + HOLDS_MS };
      this.#forgetIfUnavailable(this.#offers);
    }
    return await this.#unlessAborted(this.#offers.value, signal);
  }

  async release(use: CredentialUse, signal: AbortSignal): Promise<CredentialRelease> {
    const nowMs = this.#options.clock.now();
    const key = keyOf(use);
    const held = this.#releases.get(key);
    if (held !== undefined && held.untilMs > nowMs) {
      return await this.#unlessAborted(held.value, signal);
    }
    const value = this.#askRelease(use);
    this.#releases.delete(key);
    this.#releases.set(key, { value, untilMs: nowMs + HOLDS_MS });
    const forget = () => {
      if (this.#releases.get(key)?.value === value) this.#releases.delete(key);
    };
    // What it rejects with is for those who wait.
    value.then(({ type }) => type === "unavailable" && forget(), forget);
    const [oldest] = this.#releases.keys();
    if (this.#releases.size > USES_MAX && oldest !== undefined) this.#releases.delete(oldest);
    return await this.#unlessAborted(value, signal);
  }

  async renew(
    use: CredentialUse,
    rejected: Secret,
    signal: AbortSignal,
  ): Promise<CredentialRelease> {
    this.#releases.delete(keyOf(use));
    return await this.#unlessAborted(this.#askRelease(use, rejected), signal);
  }

  used(use: CredentialUse, requests: number): void {
    const key = keyOf(use);
    const counted = this.#counts.get(key);
    if (counted === undefined && this.#counts.size >= USES_MAX) return;
    this.#counts.set(key, { use, requests: (counted?.requests ?? 0) + requests });
    if (!this.#isCounting) void this.#tellCounts();
  }

  known(): readonly Secret[] {
    return [...this.#known.values()];
  }

  /** Nobody is to wait a second for a server that is back. */
  #forgetIfUnavailable(asked: Answer<CredentialOffers>): void {
    const forget = () => {
      if (this.#offers === asked) this.#offers = undefined;
    };
    asked.value.then(({ type }) => type === "unavailable" && forget(), forget);
  }

  async #askOffers(): Promise<CredentialOffers> {
    const answer = await this.#ask({ type: "offers", session: this.#session });
    if (answer === undefined) return NO_SERVER;
    if (answer.type === "offers") return answer;
    if (answer.type === "refused") return { type: "offers", offers: [] };
    throw new Error(`offers were answered by ${answer.type}`);
  }

  async #askRelease(
    use: CredentialUse,
    rejected?: Secret,
    isLast = false,
  ): Promise<CredentialRelease> {
    const answer = await this.#ask({ type: "release", session: this.#session, use });
    if (answer === undefined) return NO_SERVER;
    switch (answer.type) {
      case "refused":
        return answer;
      case "secret": {
        const stored = openedSecret(this.#options.secretBox, answer.secret);
        const found = await this.#external(stored);
        if (found.type === "unavailable") return found;
        const { secret } = found;
        if (secret.reveal() !== rejected?.reveal()) return this.#released(secret);
        return { type: "refused", message: "the server does not take it, and there is no other" };
      }
      case "oauth":
        return await this.#token(answer.credential, { use, rejected, isLast });
      default:
        throw new Error(`a release was answered by ${answer.type}`);
    }
  }

  /** The secret itself, where another is stored as a reference to it. */
  async #external(stored: Secret): Promise<ExternalSecret> {
    const reference = externalReference(stored.reveal());
    if (reference === undefined) return { type: "secret", secret: stored };
    if (typeof reference === "string") return { type: "unavailable", message: reference };
    const { manager, name } = reference;
    const secrets = this.#options.external?.[manager];
    const place = `the secret ${name} of the manager ${manager}`;
    if (secrets === undefined) {
      return {
        type: "unavailable",
        message: `${place} cannot be read: these hands have no such manager`,
      };
    }
    const answer = await secrets.read(this.#session.workspaceId, name, NEVER);
    if (answer.type === "secret") return answer;
    return { type: "unavailable", message: `${place} cannot be read: ${answer.message}` };
  }

  /** Where its user changed the credential while it was refreshed, theirs is looked at, once. */
  async #token(
    credential: SealedOAuth,
    {
      use,
      rejected,
      isLast,
    }: { use: CredentialUse; rejected: Secret | undefined; isLast: boolean },
  ): Promise<CredentialRelease> {
    const { secretBox, exchanger, clock } = this.#options;
    const text = openedSecrets(secretBox, credential)["access_token"];
    if (text === undefined) return { type: "refused", message: "it has no access token" };
    const token = new Secret(text);
    const isRejected = rejected?.reveal() === text;
    const { expires_at } = credential.auth;
    const leftMs =
      expires_at === undefined || expires_at === null
        ? Number.POSITIVE_INFINITY
        : Date.parse(expires_at) - clock.now();
    if (!isRejected && leftMs > EXPIRES_SOON_MS) return this.#released(token);
    const outcome = await exchanger.refresh(credential);
    if (outcome.type === "succeeded" && outcome.accessToken !== undefined) {
      return this.#released(outcome.accessToken);
    }
    if (outcome.type === "succeeded" && !isLast) return await this.#askRelease(use, rejected, true);
    if (outcome.type === "unavailable") return NO_SERVER;
    // Whether it still serves is for its server to say.
    if (!isRejected) return this.#released(token);
    return { type: "refused", message: whyNot(outcome) };
  }

  #released(secret: Secret): CredentialRelease {
    const text = secret.reveal();
    if (!this.#known.has(text)) {
      this.#known.set(text, secret);
      const [oldest] = this.#known.keys();
      if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
    }
    return { type: "released", secret };
  }

  async #tellCounts(): Promise<void> {
    const { clock } = this.#options;
    this.#isCounting = true;
    while (this.#counts.size > 0) {
      await clock.sleepUntil(clock.now() + COUNTED_MS, NEVER);
      for (const [key, { use, requests }] of [...this.#counts]) {
        this.#counts.delete(key);
        const answer = await this.#ask({ type: "used", session: this.#session, use, requests });
        if (answer === undefined) this.used(use, requests);
      }
    }
    this.#isCounting = false;
  }

  /** Not ended with one who waits, since others may wait for the same. */
  #ask(question: Parameters<AskServer>[0]): Promise<CredentialAnswer | undefined> {
    return this.#options.ask(question, NEVER);
  }

  async #unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | typeof NO_SERVER> {
    const stop = new Error("nobody waits any more");
    try {
      return await unlessAborted(answer, signal, () => stop);
    } catch (error) {
      if (error === stop) return NO_SERVER;
      throw error;
    }
  }
}

function keyOf({ id, host, purpose }: CredentialUse): string {
  return JSON.stringify([id, host, purpose]);
}

function whyNot(outcome: Exclude<RefreshOutcome, { type: "unavailable" }>): string {
  switch (outcome.type) {
    case "no_refresh_token":
      return "the server does not take the token, and there is no refresh token";
    case "connect_error":
      return "the server does not take the token, and its token endpoint does not answer";
    case "failed":
      return `the server does not take the token, and its token endpoint refused another one (status ${outcome.response.status})`;
    case "refused":
      return outcome.message;
    case "succeeded":
      return "the server does not take the token, and it was changed meanwhile";
  }
}

const NEVER = new AbortController().signal;
