import { CredentialAuth } from "@drover/api";
import { unreachable } from "../core/errors.ts";
import type {
  CredentialAnswer,
  CredentialQuestion,
  CredentialTicket,
  SealedOAuth,
} from "../core/ports/credential-broker.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { CredentialRecord, RefreshState, StoredSecret } from "../core/ports/vaults.ts";
import { secretBinding } from "../core/vaults/secret-binding.ts";
import type { SessionGrants } from "./session-grants.ts";

/** For an exchange and its commit; whoever takes longer is taken for dead. */
const CLAIM_MS = 30_000;

type ExchangeQuestion = Extract<CredentialQuestion, { credential: CredentialTicket }>;
type OAuth = SealedOAuth["auth"];

interface Exchange {
  readonly tx: StoreTransaction;
  readonly ticket: CredentialTicket;
  readonly record: CredentialRecord;
  readonly auth: OAuth;
  readonly state: RefreshState;
  readonly stored: Readonly<Record<string, StoredSecret>>;
  readonly isMine: boolean;
}

/** What is to be stored of the exchange of a refresh token, which hands make; at any time one alone. */
export async function exchanged(
  tx: StoreTransaction,
  question: ExchangeQuestion,
): Promise<CredentialAnswer> {
  const { credential: ticket, claim_id } = question;
  const { workspace_id, vault_id, id } = ticket;
  const record = await tx.credentials.find(workspace_id, vault_id, id);
  if (record === undefined || record.archived_at !== null) {
    return { type: "refused", message: "the credential is archived or deleted" };
  }
  const auth = CredentialAuth.parse(record.auth);
  if (auth.type !== "mcp_oauth") {
    return { type: "refused", message: "the credential has no refresh token" };
  }
  const state = await tx.credentials.findRefresh(workspace_id, id);
  const stored = await tx.credentials.findSecrets(workspace_id, id);
  const isMine = state.claim?.id === claim_id;
  const exchange = { tx, ticket, record, auth, state, stored, isMine };
  switch (question.type) {
    case "claim_refresh":
      return await claim(exchange, question);
    case "store_refresh":
      return await store(exchange, question);
    case "end_refresh":
      if (isMine) {
        const refused_at = question.is_refused ? tx.now : state.refused_at;
        await tx.credentials.putRefresh(workspace_id, id, { claim: null, refused_at });
      }
      return { type: "noted" };
    default:
      return unreachable(question);
  }
}

async function claim(
  exchange: Exchange,
  { claim_id, is_second_try }: Extract<ExchangeQuestion, { type: "claim_refresh" }>,
): Promise<CredentialAnswer> {
  const { tx, ticket, auth, state, stored, isMine } = exchange;
  if (state.refused_at !== null && !is_second_try) {
    return {
      type: "refused",
      message: "its refresh token was refused: it must be authorized anew",
    };
  }
  if (state.claim !== null && state.claim.until > tx.now && !isMine) return { type: "busy" };
  const until = new Date(Date.parse(tx.now) + CLAIM_MS).toISOString();
  const revisions = Object.fromEntries(
    Object.entries(stored).map(([name, { revision }]) => [name, revision]),
  );
  const { workspace_id, id } = ticket;
  const { refused_at } = state;
  const mine = { id: claim_id, until, revisions };
  await tx.credentials.putRefresh(workspace_id, id, { claim: mine, refused_at });
  return { type: "claimed", credential: await withSecrets(tx, ticket, auth) };
}

/** What its user has changed since the claim stays. */
async function store(
  { tx, ticket, record, auth, state, stored, isMine }: Exchange,
  given: Extract<ExchangeQuestion, { type: "store_refresh" }>,
): Promise<CredentialAnswer> {
  if (!isMine || state.claim === null) return { type: "stored", is_current: false };
  const { revisions } = state.claim;
  const isUntouched = (name: string) => stored[name]?.revision === revisions[name];
  const secrets = Object.entries(given.secrets).filter(([name]) => isUntouched(name));
  const is_current = isUntouched("access_token");
  // The old token's expiry says nothing of the new one.
  const { expires_at: _, ...rest } = auth;
  const expiry = given.expires_at === null ? {} : { expires_at: given.expires_at };
  const updated = {
    ...record,
    auth: is_current ? { ...rest, ...expiry } : auth,
    updated_at: tx.now,
  };
  await tx.credentials.update(updated, Object.fromEntries(secrets));
  const done = { claim: null, refused_at: null };
  await tx.credentials.putRefresh(ticket.workspace_id, ticket.id, done);
  return { type: "stored", is_current };
}

/** An OAuth credential as hands get it, its secrets sealed. */
export async function sealedOAuth(
  tx: StoreTransaction,
  { record, auth }: { record: CredentialRecord; auth: OAuth },
  grants: SessionGrants,
): Promise<SealedOAuth> {
  const { workspace_id, vault_id, id } = record;
  const ticket = grants.grantFor("credential", workspace_id, vault_id, id);
  return await withSecrets(tx, { workspace_id, vault_id, id, ticket }, auth);
}

async function withSecrets(
  tx: StoreTransaction,
  ticket: CredentialTicket,
  auth: OAuth,
): Promise<SealedOAuth> {
  const stored = await tx.credentials.findSecrets(ticket.workspace_id, ticket.id);
  const secrets = Object.entries(stored).map(
    ([name, { sealed }]) => [name, { sealed, binding: secretBinding(ticket, name) }] as const,
  );
  return { ticket, auth, secrets: Object.fromEntries(secrets) };
}
