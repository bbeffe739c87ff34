import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";
import type { CredentialAnswer, SealedOAuth } from "../../core/ports/credential-broker.ts";
import type { Egress, EgressOutcome } from "../../core/ports/egress.ts";
import type { SecretBox } from "../../core/ports/secret-box.ts";
import { secretBinding } from "../../core/vaults/secret-binding.ts";
import {
  isFinalRefusal,
  type RefreshedTokens,
  refreshedTokens,
  tokenRequest,
} from "../../core/vaults/token-exchange.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { Secret } from "../../lib/secret.ts";
import { openedSecrets } from "./opened.ts";
import type { AskServer } from "./question-box.ts";

const EXCHANGE_MS = 10_000;
const ANSWER_BYTES_MAX = 128 * 1024;
/** Between two looks at whether somebody else is done. */
const BUSY_MS = 100;
/** Somebody else's exchange and commit; then theirs was given up, and it is ours. */
const WAIT_MS = 60_000;
/** A token that cannot be had again waits so long for a server that stores it. */
const STORE_MS = 10 * 60_000;

export interface TokenExchangerOptions {
  readonly ask: AskServer;
  readonly secretBox: Pick<SecretBox, "open" | "seal">;
  readonly egress: Egress;
  readonly clock: Clock;
}

export type RefreshOutcome =
  | { readonly type: "no_refresh_token" }
  /** Undefined if somebody changed the credential meanwhile: theirs stays. */
  | { readonly type: "succeeded"; readonly accessToken: Secret | undefined }
  /** The endpoint said no. */
  | {
      readonly type: "failed";
      readonly response: Extract<EgressOutcome, { type: "response" }>;
      readonly secrets: readonly string[];
    }
  | { readonly type: "connect_error"; readonly outcome: EgressOutcome }
  /** It is not to be tried: a sentence. */
  | { readonly type: "refused"; readonly message: string }
  /** No server could be asked. */
  | { readonly type: "unavailable" };

interface RefreshOptions {
  /** Also if its endpoint has refused it for good before. */
  readonly isSecondTry?: boolean;
}

/**
 * Exchanges refresh tokens, each once for all who ask, of whatever process: many servers take one only once, and
 * take its owner for a thief if it comes again. What came is stored before it is used. A process that dies between the
 * endpoint's answer and the commit has lost it, and its user must authorize again; nothing can prevent that.
 */
export class TokenExchanger {
  readonly #options: TokenExchangerOptions;
  readonly #running = new Map<string, Promise<RefreshOutcome>>();

  constructor(options: TokenExchangerOptions) {
    this.#options = options;
  }

  /** In place of the access token in `credential`. Never rejects but for a bug. */
  refresh(credential: SealedOAuth, options: RefreshOptions = {}): Promise<RefreshOutcome> {
    const { workspace_id, id } = credential.ticket;
    const key = JSON.stringify([workspace_id, id]);
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const begun = this.#refresh(credential, options).finally(() => this.#running.delete(key));
    this.#running.set(key, begun);
    return begun;
  }

  async #refresh(
    credential: SealedOAuth,
    { isSecondTry = false }: RefreshOptions,
  ): Promise<RefreshOutcome> {
    const { clock, secretBox } = this.#options;
    if (credential.auth.refresh === null || credential.secrets["refresh_token"] === undefined) {
      return { type: "no_refresh_token" };
    }
    const before = openedSecrets(secretBox, credential)["access_token"];
    const claimId = randomUUID();
    const endMs = clock.now() + WAIT_MS;
    while (clock.now() < endMs) {
      const answer = await this.#ask({
        type: "claim_refresh",
        credential: credential.ticket,
        claim_id: claimId,
        is_second_try: isSecondTry,
      });
      if (answer === undefined) return { type: "unavailable" };
      if (answer.type === "refused") return answer;
      if (answer.type === "claimed") return await this.#claimed(answer.credential, before, claimId);
      if (answer.type !== "busy") throw new Error(`a claim was answered by ${answer.type}`);
      await clock.sleepUntil(clock.now() + BUSY_MS, NEVER);
    }
    return { type: "unavailable" };
  }

  /** Who comes second finds the other's token there, and exchanges nothing. */
  async #claimed(
    credential: SealedOAuth,
    before: string | undefined,
    claimId: string,
  ): Promise<RefreshOutcome> {
    const secrets = openedSecrets(this.#options.secretBox, credential);
    const token = secrets["access_token"];
    const { refresh } = credential.auth;
    if (token !== before || refresh === null || secrets["refresh_token"] === undefined) {
      await this.#end(credential, claimId, false);
      return {
        type: "succeeded",
        accessToken: token === undefined ? undefined : new Secret(token),
      };
    }
    const { secrets: sent, ...request } = tokenRequest(refresh, secrets);
    failPoint("hands.exchange.before");
    const outcome = await this.#options.egress.send({
      ...request,
      method: "POST",
      timeoutMs: EXCHANGE_MS,
      bytesMax: ANSWER_BYTES_MAX,
    });
    failPoint("hands.exchange.after");
    if (outcome.type !== "response") {
      await this.#end(credential, claimId, false);
      return { type: "connect_error", outcome };
    }
    const isOk = outcome.status >= 200 && outcome.status < 300;
    const tokens = isOk ? refreshedTokens(outcome.body, this.#options.clock.now()) : undefined;
    if (tokens === undefined) {
      await this.#end(credential, claimId, isFinalRefusal(outcome));
      return { type: "failed", response: outcome, secrets: sent };
    }
    const isCurrent = await this.#store(credential, claimId, tokens);
    if (isCurrent === undefined) return { type: "unavailable" };
    return {
      type: "succeeded",
      accessToken: isCurrent ? new Secret(tokens.access_token) : undefined,
    };
  }

  /** Undefined if no server could be asked for long. */
  async #store(
    { ticket }: SealedOAuth,
    claimId: string,
    tokens: RefreshedTokens,
  ): Promise<boolean | undefined> {
    const { clock, secretBox } = this.#options;
    const { access_token, refresh_token, expires_at = null } = tokens;
    const sealed = (name: string, value: string) =>
      secretBox.seal(new Secret(value), secretBinding(ticket, name));
    const secrets = {
      access_token: sealed("access_token", access_token),
      ...(refresh_token !== undefined && { refresh_token: sealed("refresh_token", refresh_token) }),
    };
    const endMs = clock.now() + STORE_MS;
    const question = { credential: ticket, claim_id: claimId, secrets } as const;
    do {
      const answer = await this.#ask({ type: "store_refresh", ...question, expires_at });
      if (answer?.type === "stored") return answer.is_current;
      // Archived or deleted.
      if (answer !== undefined) return false;
    } while (clock.now() < endMs);
    return undefined;
  }

  /** Where it is not heard the claim ends by itself. */
  async #end({ ticket }: SealedOAuth, claimId: string, isRefused: boolean): Promise<void> {
    await this.#ask({
      type: "end_refresh",
      credential: ticket,
      claim_id: claimId,
      is_refused: isRefused,
    });
  }

  #ask(question: Parameters<AskServer>[0]): Promise<CredentialAnswer | undefined> {
    return this.#options.ask(question, NEVER);
  }
}

const NEVER = new AbortController().signal;
