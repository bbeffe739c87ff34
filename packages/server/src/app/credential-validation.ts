import {
  CredentialAuth,
  type CredentialHttpResponse,
  type CredentialValidation,
} from "@drover/api";
import { InvalidRequestError, NotFoundError, OverloadedError } from "../core/errors.ts";
import type { EgressOutcome } from "../core/ports/egress.ts";
import { scrubbed } from "../core/vaults/scrubbed.ts";
import { isDefinitive } from "../core/vaults/token-exchange.ts";
import { isRejection, type ProbeFailure, probeMcpServer } from "./credential-probe.ts";
import {
  type OpenCredential,
  type RefreshDeps,
  type RefreshOutcome,
  refreshCredential,
} from "./credential-refresh.ts";
import { openedSecrets } from "./credential-secrets.ts";
import type { CredentialPlace } from "./credentials.ts";

/** Validations that run at once in a process; each is a few requests to servers of others. */
const RUNNING_MAX = 32;
const CONTENT_TYPE_LENGTH_MAX = 255;

export interface CredentialValidationDeps extends RefreshDeps {
  readonly log: ValidationLog;
}

interface ValidationLog {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface CredentialValidator {
  /**
   * Tries an OAuth credential on its MCP server and refreshes its token if that is refused. Who asks
   * while it is being tried gets the same answer: a refresh token is good for one exchange. Rejects with
   * `NotFoundError`, with `InvalidRequestError` for one that is archived or of another type, and with
   * `OverloadedError`.
   */
  validate(workspaceId: string, place: CredentialPlace): Promise<CredentialValidation>;
}

type Verdict = Pick<CredentialValidation, "status" | "mcp_probe" | "refresh">;

/**
 * The one place where this process opens secrets of vaults. It stands by itself, on ports alone, so
 * that it can move to the process that holds connections to MCP servers.
 */
export function createCredentialValidator(deps: CredentialValidationDeps): CredentialValidator {
  const running = new Map<string, Promise<CredentialValidation>>();
  return {
    validate: async (workspaceId, place) => {
      const key = JSON.stringify([workspaceId, place.vaultId, place.id]);
      const current = running.get(key);
      if (current !== undefined) return await current;
      if (running.size >= RUNNING_MAX) {
        throw new OverloadedError("too many credentials are being validated: try again later");
      }
      const validation = validated(deps, workspaceId, place).finally(() => running.delete(key));
      running.set(key, validation);
      return await validation;
    },
  };
}

async function validated(
  deps: CredentialValidationDeps,
  workspaceId: string,
  place: CredentialPlace,
): Promise<CredentialValidation> {
  const credential = await openCredential(deps, workspaceId, place);
  const verdict = await verdictOn(deps, credential);
  return {
    type: "vault_credential_validation",
    credential_id: place.id,
    vault_id: place.vaultId,
    validated_at: new Date(deps.clock.now()).toISOString(),
    has_refresh_token: credential.secrets["refresh_token"] !== undefined,
    ...verdict,
  };
}

async function openCredential(
  { store, secretBox }: CredentialValidationDeps,
  workspaceId: string,
  { vaultId, id }: CredentialPlace,
): Promise<OpenCredential> {
  const found = await store.write(async (tx) => ({
    record: await tx.credentials.find(workspaceId, vaultId, id),
    sealed: await tx.credentials.findSealed(workspaceId, vaultId, id),
  }));
  const { record, sealed } = found;
  if (record === undefined) throw new NotFoundError(`there is no credential ${id} in ${vaultId}`);
  const auth = CredentialAuth.parse(record.auth);
  if (auth.type !== "mcp_oauth") {
    throw new InvalidRequestError(
      `credential ${id} is of type ${auth.type}: only one of type mcp_oauth can be validated`,
    );
  }
  if (record.archived_at !== null || sealed === undefined) {
    throw new InvalidRequestError(`credential ${id} is archived and has no secrets any more`);
  }
  return { record, auth, secrets: openedSecrets(secretBox, record, sealed) };
}

async function verdictOn(
  deps: CredentialValidationDeps,
  credential: OpenCredential,
): Promise<Verdict> {
  const { auth, secrets } = credential;
  const token = secrets["access_token"];
  if (token === undefined) return { status: "invalid", mcp_probe: null, refresh: null };
  const probe = async (accessToken: string) => {
    const server = { url: auth.mcp_server_url, token: accessToken };
    const failure = await probeMcpServer(deps.egress, server);
    if (failure !== undefined) tell(deps, credential, failure.outcome);
    return failure;
  };
  const failure = await probe(token);
  if (failure === undefined) return { status: "valid", mcp_probe: null, refresh: null };
  const known = Object.values(secrets);
  const mcp_probe = probeOf(failure, known);
  if (!isUnauthorized(failure.outcome)) {
    const status = isRejection(failure.outcome) ? "invalid" : "unknown";
    return { status, mcp_probe, refresh: null };
  }
  const refreshed = await refreshCredential(deps, credential);
  if (refreshed.type === "connect_error") tell(deps, credential, refreshed.outcome);
  const refresh = refreshOf(refreshed, known);
  if (refreshed.type !== "succeeded") return { status: statusOf(refreshed), mcp_probe, refresh };
  const { accessToken } = refreshed;
  if (accessToken === undefined) return { status: "unknown", mcp_probe, refresh };
  const again = await probe(accessToken);
  if (again === undefined) return { status: "valid", mcp_probe: null, refresh };
  const status = isRejection(again.outcome) ? "invalid" : "unknown";
  return { status, mcp_probe: probeOf(again, [...known, accessToken]), refresh };
}

/** A refusal that may be another one tomorrow proves nothing. */
function statusOf(refreshed: RefreshOutcome): "invalid" | "unknown" {
  if (refreshed.type === "no_refresh_token") return "invalid";
  const isRefused = refreshed.type === "failed" && isDefinitive(refreshed.response.status);
  return isRefused ? "invalid" : "unknown";
}

function isUnauthorized(outcome: EgressOutcome): boolean {
  return outcome.type === "response" && outcome.status === 401;
}

function probeOf(
  { method, outcome }: ProbeFailure,
  secrets: readonly string[],
): NonNullable<CredentialValidation["mcp_probe"]> {
  return { method, http_response: responseOf(outcome, secrets) };
}

function refreshOf(
  refreshed: RefreshOutcome,
  known: readonly string[],
): NonNullable<CredentialValidation["refresh"]> {
  if (refreshed.type !== "failed") return { status: refreshed.type, http_response: null };
  const { response, secrets } = refreshed;
  const http_response = responseOf(response, [...known, ...secrets]);
  // An answer that should have held tokens may hold them in a way that was not understood.
  const isOk = response.status >= 200 && response.status < 300;
  return {
    status: "failed",
    http_response:
      isOk && http_response !== null
        ? { ...http_response, body: "", body_truncated: true }
        : http_response,
  };
}

function responseOf(
  outcome: EgressOutcome,
  secrets: readonly string[],
): CredentialHttpResponse | null {
  if (outcome.type !== "response") return null;
  const { status, headers, body, isTruncated } = outcome;
  const type = new TextEncoder().encode(headers["content-type"] ?? "");
  const shown = scrubbed({ bytes: type, isTruncated: false }, secrets).body;
  return {
    status_code: status,
    content_type: shown.slice(0, CONTENT_TYPE_LENGTH_MAX),
    ...scrubbed({ bytes: body, isTruncated }, secrets),
  };
}

/** What the answer cannot say: whoever runs the server may have to name a host, or mend a network. */
function tell(
  { log }: CredentialValidationDeps,
  { record }: OpenCredential,
  outcome: EgressOutcome,
): void {
  if (outcome.type === "response") return;
  const { id, workspace_id } = record;
  const fields = { credential_id: id, workspace_id, why: outcome.message };
  log.warn(fields, `a credential's server was not asked: ${outcome.type}`);
}
