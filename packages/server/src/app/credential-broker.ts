import { createHash } from "node:crypto";
import {
  type CredentialAuth,
  type GithubRepositoryResource,
  idPrefixes,
  SessionResource,
} from "@drover/api";
import { readHost } from "../core/egress/host.ts";
import { judgeHost } from "../core/egress/policy.ts";
import { unreachable } from "../core/errors.ts";
import type {
  CredentialAnswer,
  CredentialBroker,
  CredentialQuestion,
} from "../core/ports/credential-broker.ts";
import type { CredentialUseFacts } from "../core/ports/credential-uses.ts";
import type {
  CredentialBinding,
  CredentialOffer,
  CredentialUse,
} from "../core/ports/session-credentials.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store, StoreTransaction } from "../core/ports/store.ts";
import { tokenBinding } from "../core/sessions/token-binding.ts";
import { secretBinding } from "../core/vaults/secret-binding.ts";
import { normalizedUrl } from "../core/vaults/server-url.ts";
import { type SessionCredential, sessionCredentials } from "../core/vaults/session-credentials.ts";
import { exchanged, sealedOAuth } from "./credential-exchange.ts";
import type { NewId } from "./principal.ts";
import type { SessionGrants } from "./session-grants.ts";

const PLACEHOLDER_DIGITS = 32;

export interface CredentialBrokerOptions {
  readonly store: Pick<Store, "write">;
  readonly grants: SessionGrants;
  readonly newId: NewId;
}

export function createCredentialBroker(options: CredentialBrokerOptions): CredentialBroker {
  return {
    answer: (question) => options.store.write((tx) => answered(tx, question, options)),
  };
}

async function answered(
  tx: StoreTransaction,
  question: CredentialQuestion,
  { grants, newId }: CredentialBrokerOptions,
): Promise<CredentialAnswer> {
  switch (question.type) {
    case "offers":
    case "release":
    case "used": {
      const { workspaceId, sessionId, grant } = question.session;
      const session = await tx.sessions.find({ workspaceId, sessionId });
      const isOpen = session !== undefined && session.deleted_at === null;
      if (!isOpen || !grants.isGrant(grant, "session", workspaceId, sessionId)) {
        return refused("there is no such session");
      }
      if (question.type === "offers")
        return { type: "offers", offers: await offersOf(tx, session) };
      const teller = { tx, session, newId };
      if (question.type === "used") return await noteRequests(teller, question);
      return await release(teller, question.use, grants);
    }
    case "claim_refresh":
    case "store_refresh":
    case "end_refresh": {
      const { workspace_id, vault_id, id, ticket } = question.credential;
      if (!grants.isGrant(ticket, "credential", workspace_id, vault_id, id)) {
        return refused("there is no such credential");
      }
      return await exchanged(tx, question);
    }
    default:
      return unreachable(question);
  }
}

/** Which of the session's credentials there are now. */
async function offersOf(
  tx: StoreTransaction,
  session: SessionRecord,
): Promise<readonly CredentialOffer[]> {
  const credentials = await credentialsOf(tx, session);
  const repositories: CredentialOffer[] = [];
  for (const { id, url } of repositoriesOf(session)) {
    const token = await tx.sessions.findRepositoryToken(keyOf(session), id);
    if (token !== undefined) repositories.push({ type: "repository", resource_id: id, url });
  }
  const ids = credentials.map(({ record }) => record.id);
  const bindings = await tx.credentials.findBindings(session.workspace_id, ids);
  const offers = credentials.map((credential) => {
    const binding = bindings[credential.record.id];
    return offerOf(credential, session, binding);
  });
  return [...offers, ...repositories];
}

async function credentialsOf(
  tx: StoreTransaction,
  { workspace_id, vault_ids, archived_at }: SessionRecord,
): Promise<readonly SessionCredential[]> {
  if (archived_at !== null) return [];
  return sessionCredentials(vault_ids, await tx.credentials.listActive(workspace_id, vault_ids));
}

function offerOf(
  { record, auth }: SessionCredential,
  session: SessionRecord,
  binding: CredentialBinding | undefined,
): CredentialOffer {
  const place = { credential_id: record.id, vault_id: record.vault_id };
  if (auth.type !== "environment_variable") {
    return { ...place, type: auth.type, mcp_server_url: normalizedUrl(auth.mcp_server_url) };
  }
  const { secret_name, networking, injection_location } = auth;
  return {
    ...place,
    type: auth.type,
    secret_name,
    placeholder: placeholderOf(session, record.id),
    allowed_hosts:
      networking.type === "limited"
        ? networking.allowed_hosts.map((host) => host.toLowerCase())
        : null,
    injection_location,
    ...(binding !== undefined && { binding }),
  };
}

/** The same for the session's whole life, so that what its programs have written down stays right. */
function placeholderOf({ workspace_id, id }: SessionRecord, credentialId: string): string {
  const hash = createHash("sha256").update(JSON.stringify([workspace_id, id, credentialId]));
  return `drover-secret-${hash.digest("hex").slice(0, PLACEHOLDER_DIGITS)}`;
}

interface Teller {
  readonly tx: StoreTransaction;
  readonly session: SessionRecord;
  readonly newId: NewId;
}

async function release(
  teller: Teller,
  use: CredentialUse,
  grants: SessionGrants,
): Promise<CredentialAnswer> {
  const { tx, session } = teller;
  if (use.purpose === "git") return await releaseToken(teller, use);
  const found = (await credentialsOf(tx, session)).find(({ record }) => record.id === use.id);
  if (found === undefined) return await refuse(teller, use, null, "the session does not have it");
  const { record, auth } = found;
  const problem = problemOf(auth, use);
  if (problem !== undefined) return await refuse(teller, use, record.vault_id, problem);
  await note(teller, use, { vault_id: record.vault_id, verdict: "released", reason: "" });
  if (auth.type === "mcp_oauth") {
    return { type: "oauth", credential: await sealedOAuth(tx, { record, auth }, grants) };
  }
  const name = auth.type === "static_bearer" ? "token" : "secret_value";
  const secrets = await tx.credentials.findSecrets(record.workspace_id, record.id);
  const sealed = secrets[name]?.sealed;
  if (sealed === undefined) throw new Error(`credential ${record.id} is active without a secret`);
  return { type: "secret", secret: { sealed, binding: secretBinding(record, name) } };
}

/** Why the credential is not for the use; undefined if it is. */
function problemOf(auth: CredentialAuth, { host, purpose }: CredentialUse): string | undefined {
  const to = readHost(host);
  if (to === undefined) return "the host is none";
  if (auth.type !== "environment_variable") {
    const server = readHost(new URL(auth.mcp_server_url).hostname);
    const isFor = purpose === "mcp" && server?.text === to.text;
    return isFor ? undefined : "it is for another server";
  }
  if (purpose !== "egress") return "it is for programs in a sandbox";
  if (auth.networking.type === "unrestricted") return undefined;
  const { allowed_hosts: hosts } = auth.networking;
  const verdict = judgeHost({ type: "limited", hosts }, to);
  return verdict.type === "permitted" ? undefined : "the host is not among its allowed hosts";
}

async function releaseToken(teller: Teller, use: CredentialUse): Promise<CredentialAnswer> {
  const { tx, session } = teller;
  const key = keyOf(session);
  const repository = repositoriesOf(session).find(({ id }) => id === use.id);
  const sealed = repository && (await tx.sessions.findRepositoryToken(key, use.id));
  if (repository === undefined || sealed === undefined || session.archived_at !== null) {
    return await refuse(teller, use, null, "the session does not have it");
  }
  if (readHost(new URL(repository.url).hostname)?.text !== readHost(use.host)?.text) {
    return await refuse(teller, use, null, "it is for another server");
  }
  await note(teller, use, { vault_id: null, verdict: "released", reason: "" });
  return { type: "secret", secret: { sealed, binding: tokenBinding(key, use.id) } };
}

async function noteRequests(
  teller: Teller,
  { use, requests }: Extract<CredentialQuestion, { type: "used" }>,
): Promise<CredentialAnswer> {
  const { tx, session } = teller;
  const found = (await credentialsOf(tx, session)).find(({ record }) => record.id === use.id);
  const vault_id = found?.record.vault_id ?? null;
  const facts = factsOf(session, use, { vault_id, verdict: "released", reason: "" });
  await tx.credentialUses.add(facts, {
    id: teller.newId(idPrefixes.credentialUse),
    releases: 0,
    requests,
  });
  return { type: "noted" };
}

type Verdict = Pick<CredentialUseFacts, "vault_id" | "verdict" | "reason">;

async function refuse(
  teller: Teller,
  use: CredentialUse,
  vault_id: string | null,
  reason: string,
): Promise<CredentialAnswer> {
  await note(teller, use, { vault_id, verdict: "refused", reason });
  return refused(`${use.id} is not released for ${use.host}: ${reason}`);
}

async function note({ tx, session, newId }: Teller, use: CredentialUse, verdict: Verdict) {
  const facts = factsOf(session, use, verdict);
  await tx.credentialUses.add(facts, {
    id: newId(idPrefixes.credentialUse),
    releases: 1,
    requests: 0,
  });
}

function factsOf(session: SessionRecord, use: CredentialUse, verdict: Verdict): CredentialUseFacts {
  return {
    workspace_id: session.workspace_id,
    session_id: session.id,
    api_key_id: session.created_by ?? null,
    credential_id: use.id,
    host: use.host,
    purpose: use.purpose,
    ...verdict,
  };
}

function repositoriesOf({ resources }: SessionRecord): readonly GithubRepositoryResource[] {
  return resources.flatMap((resource) => {
    const { data } = SessionResource.safeParse(resource);
    return data?.type === "github_repository" ? [data] : [];
  });
}

function keyOf({ workspace_id, id }: { readonly workspace_id: string; readonly id: string }) {
  return { workspaceId: workspace_id, sessionId: id };
}

function refused(message: string): CredentialAnswer {
  return { type: "refused", message };
}

/** By what hands may ask for the session's credentials; undefined for a session that has none. */
export function grantOf(session: SessionRecord, grants: SessionGrants): string | undefined {
  const isWithout = session.vault_ids.length === 0 && repositoriesOf(session).length === 0;
  if (isWithout) return undefined;
  return grants.grantFor("session", session.workspace_id, session.id);
}
