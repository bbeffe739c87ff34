import { CredentialAuth } from "@drover/api";
import { StoreUnavailableError } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Egress, EgressOutcome } from "../core/ports/egress.ts";
import type { SecretBox } from "../core/ports/secret-box.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import type { CredentialRecord } from "../core/ports/vaults.ts";
import type { CredentialSecrets } from "../core/vaults/credential-parts.ts";
import {
  type RefreshedTokens,
  refreshedTokens,
  tokenRequest,
} from "../core/vaults/token-exchange.ts";
import { openedSecrets, sealedSecrets } from "./credential-secrets.ts";

const EXCHANGE_MS = 10_000;
const ANSWER_BYTES_MAX = 128 * 1024;
/** While the store cannot write, a token that cannot be had again waits for it so often. */
const STORE_ATTEMPTS_MAX = 10;
const STORE_RETRY_MS = 1_000;

export interface RefreshDeps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly egress: Egress;
  readonly clock: Clock;
}

export interface OpenCredential {
  readonly record: CredentialRecord;
  readonly auth: Extract<CredentialAuth, { type: "mcp_oauth" }>;
  readonly secrets: CredentialSecrets;
}

export type RefreshOutcome =
  | { readonly type: "no_refresh_token" }
  /** `accessToken` is undefined if somebody changed the credential meanwhile: theirs stays. */
  | { readonly type: "succeeded"; readonly accessToken: string | undefined }
  | {
      readonly type: "failed";
      readonly response: Extract<EgressOutcome, { type: "response" }>;
      readonly secrets: readonly string[];
    }
  | { readonly type: "connect_error"; readonly outcome: EgressOutcome };

/**
 * Exchanges the refresh token once and stores what comes before anything else is done with it: many
 * servers take each refresh token once. A process that dies between the answer and the commit has lost
 * it, and its user must authorize again; nothing can prevent that.
 */
export async function refreshCredential(
  deps: RefreshDeps,
  credential: OpenCredential,
): Promise<RefreshOutcome> {
  const { auth, secrets } = credential;
  if (auth.refresh === null || secrets["refresh_token"] === undefined) {
    return { type: "no_refresh_token" };
  }
  const { secrets: sent, ...request } = tokenRequest(auth.refresh, secrets);
  const outcome = await deps.egress.send({
    ...request,
    method: "POST",
    timeoutMs: EXCHANGE_MS,
    bytesMax: ANSWER_BYTES_MAX,
  });
  if (outcome.type !== "response") return { type: "connect_error", outcome };
  const isOk = outcome.status >= 200 && outcome.status < 300;
  const tokens = isOk ? refreshedTokens(outcome.body, deps.clock.now()) : undefined;
  if (tokens === undefined) return { type: "failed", response: outcome, secrets: sent };
  const isStored = await keep(deps, credential, tokens);
  return { type: "succeeded", accessToken: isStored ? tokens.access_token : undefined };
}

async function keep(
  { store, secretBox, clock }: RefreshDeps,
  credential: OpenCredential,
  tokens: RefreshedTokens,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store.write((tx) => swap(tx, secretBox, credential, tokens));
    } catch (error) {
      const isOver = attempt === STORE_ATTEMPTS_MAX;
      if (!(error instanceof StoreUnavailableError) || isOver) throw error;
      await clock.sleepUntil(clock.now() + STORE_RETRY_MS, new AbortController().signal);
    }
  }
}

/**
 * Compares and swaps: nothing is stored over a refresh token that came from somewhere else since, and an
 * access token that did stays. Says whether the new access token is the credential's now.
 */
async function swap(
  tx: StoreTransaction,
  secretBox: SecretBox,
  { record, secrets }: OpenCredential,
  tokens: RefreshedTokens,
): Promise<boolean> {
  const { workspace_id, vault_id, id } = record;
  const current = await tx.credentials.find(workspace_id, vault_id, id);
  const sealed = await tx.credentials.findSealed(workspace_id, vault_id, id);
  if (current === undefined || sealed === undefined) return false;
  const now = openedSecrets(secretBox, current, sealed);
  if (now["refresh_token"] !== secrets["refresh_token"]) return false;
  const isSameToken = now["access_token"] === secrets["access_token"];
  const auth = CredentialAuth.parse(current.auth);
  const updated = {
    ...current,
    auth: isSameToken ? withExpiry(auth, tokens.expires_at) : auth,
    updated_at: tx.now,
  };
  const next = {
    ...now,
    ...(tokens.refresh_token !== undefined && { refresh_token: tokens.refresh_token }),
    ...(isSameToken && { access_token: tokens.access_token }),
  };
  await tx.credentials.update(updated, sealedSecrets(secretBox, current, next));
  return isSameToken;
}

/** The old token's expiry says nothing of the new one. */
function withExpiry(auth: CredentialAuth, expiresAt: string | undefined): CredentialAuth {
  if (auth.type !== "mcp_oauth") return auth;
  const { expires_at: _, ...rest } = auth;
  return expiresAt === undefined ? rest : { ...rest, expires_at: expiresAt };
}
