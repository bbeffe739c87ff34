import type {
  CredentialRelease,
  CredentialUse,
  SessionCredentials,
} from "../../core/ports/session-credentials.ts";
import { normalizedUrl } from "../../core/vaults/server-url.ts";
import type { Secret } from "../../lib/secret.ts";
import { McpFailure, notSent } from "./mcp-failure.ts";

/** A token for one request, and what it was released for. */
export interface ServerToken {
  readonly secret: Secret;
  readonly use: CredentialUse;
}

/** The token that the session has for the server now; undefined if it has none. Rejects with `McpFailure`. */
export async function tokenFor(
  credentials: SessionCredentials,
  serverUrl: string,
  signal: AbortSignal,
): Promise<ServerToken | undefined> {
  const answer = await credentials.offers(signal);
  if (answer.type === "unavailable") throw unavailable(answer.message);
  const wanted = normalizedUrl(serverUrl);
  const offer = answer.offers.find((one) => {
    return "mcp_server_url" in one && one.mcp_server_url === wanted;
  });
  if (offer === undefined || !("mcp_server_url" in offer)) return undefined;
  const host = new URL(serverUrl).hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const use: CredentialUse = { id: offer.credential_id, host, purpose: "mcp" };
  return tokenIn(await credentials.release(use, signal), use);
}

/** Another token than one that the server has refused; undefined if there is none. Rejects with `McpFailure`. */
export async function renewedToken(
  credentials: SessionCredentials,
  { secret, use }: ServerToken,
  signal: AbortSignal,
): Promise<ServerToken | undefined> {
  return renewedIn(await credentials.renew(use, secret, signal), use);
}

function tokenIn(release: CredentialRelease, use: CredentialUse): ServerToken {
  if (release.type === "unavailable") throw unavailable(release.message);
  if (release.type === "released") return { secret: release.secret, use };
  throw new McpFailure("authentication", `There is no token for it: ${release.message}.`, {
    isUnknown: false,
  });
}

function renewedIn(release: CredentialRelease, use: CredentialUse): ServerToken | undefined {
  if (release.type === "unavailable") throw unavailable(release.message);
  return release.type === "released" ? { secret: release.secret, use } : undefined;
}

function unavailable(message: string): McpFailure {
  return notSent(`its token cannot be asked for (502): ${message}`);
}
