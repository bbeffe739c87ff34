import { CredentialAuth, type CredentialValidation, idPrefixes } from "@drover/api";
import { InvalidRequestError, NotFoundError, OverloadedError } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { SealedOAuth } from "../core/ports/credential-broker.ts";
import type { CredentialTrials } from "../core/ports/credential-trials.ts";
import type { Store } from "../core/ports/store.ts";
import { sealedOAuth } from "./credential-exchange.ts";
import type { CredentialPlace } from "./credentials.ts";
import type { NewId, Principal } from "./principal.ts";
import type { SessionGrants } from "./session-grants.ts";

/** Validations that run at once in a process; each is a few requests to servers of others. */
const RUNNING_MAX = 32;

export interface CredentialValidationDeps {
  readonly store: Pick<Store, "write">;
  readonly grants: SessionGrants;
  readonly credentialTrials: CredentialTrials;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly log: ValidationLog;
}

interface ValidationLog {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface CredentialValidator {
  /**
   * Tries an OAuth credential on its MCP server and refreshes its token if that is refused. Who asks
   * while it is being tried gets the same answer. Rejects with `NotFoundError`, with `InvalidRequestError`
   * for one that is archived or of another type, and with `OverloadedError`, also where no hands can be had.
   */
  validate(principal: Principal, place: CredentialPlace): Promise<CredentialValidation>;
}

/** Secrets are not opened here: hands try the credential. */
export function createCredentialValidator(deps: CredentialValidationDeps): CredentialValidator {
  const running = new Map<string, Promise<CredentialValidation>>();
  return {
    validate: async (principal, place) => {
      const key = JSON.stringify([principal.workspaceId, place.vaultId, place.id]);
      const current = running.get(key);
      if (current !== undefined) return await current;
      if (running.size >= RUNNING_MAX) {
        throw new OverloadedError("too many credentials are being validated: try again later");
      }
      const validation = validated(deps, principal, place).finally(() => running.delete(key));
      running.set(key, validation);
      return await validation;
    },
  };
}

async function validated(
  deps: CredentialValidationDeps,
  principal: Principal,
  place: CredentialPlace,
): Promise<CredentialValidation> {
  const credential = await sealedCredential(deps, principal, place);
  const outcome = await deps.credentialTrials.try(credential, new AbortController().signal);
  if (outcome.type === "unavailable") {
    throw new OverloadedError(`the credential cannot be tried now: ${outcome.message}`);
  }
  // What the answer cannot say: whoever runs the server may have to name a host, or mend a network.
  for (const why of outcome.problems) {
    const { id, workspace_id } = credential.ticket;
    deps.log.warn({ credential_id: id, workspace_id, why }, "a credential's server was not asked");
  }
  return {
    type: "vault_credential_validation",
    credential_id: place.id,
    vault_id: place.vaultId,
    validated_at: new Date(deps.clock.now()).toISOString(),
    has_refresh_token: credential.secrets["refresh_token"] !== undefined,
    ...outcome.verdict,
  };
}

async function sealedCredential(
  { store, grants, newId }: CredentialValidationDeps,
  { workspaceId, keyId }: Principal,
  { vaultId, id }: CredentialPlace,
): Promise<SealedOAuth> {
  return await store.write(async (tx) => {
    const record = await tx.credentials.find(workspaceId, vaultId, id);
    if (record === undefined) throw new NotFoundError(`there is no credential ${id} in ${vaultId}`);
    const auth = CredentialAuth.parse(record.auth);
    if (auth.type !== "mcp_oauth") {
      throw new InvalidRequestError(
        `credential ${id} is of type ${auth.type}: only one of type mcp_oauth can be validated`,
      );
    }
    if (record.archived_at !== null) {
      throw new InvalidRequestError(`credential ${id} is archived and has no secrets any more`);
    }
    await tx.credentialUses.add(
      {
        workspace_id: workspaceId,
        session_id: "",
        api_key_id: keyId,
        vault_id: vaultId,
        credential_id: id,
        host: new URL(auth.mcp_server_url).hostname,
        purpose: "validation",
        verdict: "released",
        reason: "",
      },
      { id: newId(idPrefixes.credentialUse), releases: 1, requests: 0 },
    );
    return await sealedOAuth(tx, { record, auth }, grants);
  });
}
