import type { CredentialHttpResponse, CredentialValidation } from "@drover/api";
import type { SealedOAuth } from "../../core/ports/credential-broker.ts";
import type { CredentialVerdict, TrialOutcome } from "../../core/ports/credential-trials.ts";
import type { Egress, EgressOutcome } from "../../core/ports/egress.ts";
import type { SecretBox } from "../../core/ports/secret-box.ts";
import { scrubbed } from "../../core/vaults/scrubbed.ts";
import { isDefinitive } from "../../core/vaults/token-exchange.ts";
import { openedSecrets } from "./opened.ts";
import { isRejection, type ProbeFailure, probeMcpServer } from "./probe-mcp-server.ts";
import type { RefreshOutcome, TokenExchanger } from "./token-exchanger.ts";

export interface TrialDeps {
  readonly egress: Egress;
  readonly secretBox: Pick<SecretBox, "open">;
  readonly exchanger: Pick<TokenExchanger, "refresh">;
}

const CONTENT_TYPE_LENGTH_MAX = 255;

/** Tries an OAuth credential on its MCP server, and refreshes its token if that is refused. */
export async function tryCredential(
  credential: SealedOAuth,
  deps: TrialDeps,
): Promise<Exclude<TrialOutcome, { type: "unavailable" }>> {
  const problems: string[] = [];
  const tell = (outcome: EgressOutcome) => {
    if (outcome.type !== "response") problems.push(`${outcome.type}: ${outcome.message}`);
  };
  const verdict = await verdictOn(credential, deps, tell);
  return { type: "verdict", verdict, problems };
}

async function verdictOn(
  credential: SealedOAuth,
  { egress, secretBox, exchanger }: TrialDeps,
  tell: (outcome: EgressOutcome) => void,
): Promise<CredentialVerdict> {
  const secrets = openedSecrets(secretBox, credential);
  const token = secrets["access_token"];
  if (token === undefined) return { status: "invalid", mcp_probe: null, refresh: null };
  const probe = async (accessToken: string) => {
    const server = { url: credential.auth.mcp_server_url, token: accessToken };
    const failure = await probeMcpServer(egress, server);
    if (failure !== undefined) tell(failure.outcome);
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
  // Whoever asks for this may have mended at the endpoint what was refused before.
  const refreshed = await exchanger.refresh(credential, { isSecondTry: true });
  if (refreshed.type === "connect_error") tell(refreshed.outcome);
  const refresh = refreshOf(refreshed, known);
  if (refreshed.type !== "succeeded") return { status: statusOf(refreshed), mcp_probe, refresh };
  const accessToken = refreshed.accessToken?.reveal();
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

/** Null where nothing was tried. */
function refreshOf(
  refreshed: RefreshOutcome,
  known: readonly string[],
): CredentialValidation["refresh"] {
  if (refreshed.type === "refused" || refreshed.type === "unavailable") return null;
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
