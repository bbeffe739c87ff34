import type { CredentialAuth, CredentialAuthParams, CredentialAuthUpdateParams } from "@drover/api";
import { InvalidRequestError } from "../errors.ts";
import { type CredentialParts, given } from "./credential-parts.ts";

type Auth = Extract<CredentialAuth, { type: "mcp_oauth" }>;
type Refresh = NonNullable<Auth["refresh"]>;
type Params = Extract<CredentialAuthParams, { type: "mcp_oauth" }>;
type RefreshParams = NonNullable<Params["refresh"]>;
type UpdateParams = Extract<CredentialAuthUpdateParams, { type: "mcp_oauth" }>;
type RefreshUpdateParams = NonNullable<UpdateParams["refresh"]>;

export function newOAuth(params: Params, now: string): CredentialParts {
  const { type, mcp_server_url, access_token, refresh } = params;
  return {
    auth: {
      type,
      mcp_server_url,
      ...expiry(params.expires_at, now),
      refresh: refresh === null || refresh === undefined ? null : newRefresh(refresh),
    },
    secrets: given({
      access_token,
      refresh_token: refresh?.refresh_token,
      client_secret: clientSecretOf(refresh?.token_endpoint_auth),
    }),
  };
}

/** A new token without `expires_at` keeps the old one. */
export function updatedOAuth(current: Auth, params: UpdateParams, now: string): CredentialParts {
  const { access_token, refresh } = params;
  if (refresh === null || refresh === undefined) {
    const auth = { ...current, ...expiry(params.expires_at, now) };
    return { auth, secrets: given({ access_token }) };
  }
  if (current.refresh === null) {
    throw new InvalidRequestError(
      "auth.refresh: this credential was created without it; create another one with it",
    );
  }
  return {
    auth: {
      ...current,
      ...expiry(params.expires_at, now),
      refresh: updatedRefresh(current.refresh, refresh),
    },
    secrets: given({
      access_token,
      refresh_token: refresh.refresh_token,
      client_secret: refresh.token_endpoint_auth?.client_secret,
    }),
  };
}

function newRefresh(params: RefreshParams): Refresh {
  const { client_id, token_endpoint, token_endpoint_auth } = params;
  return {
    client_id,
    token_endpoint,
    token_endpoint_auth: { type: token_endpoint_auth.type },
    resource: textOf(params.resource),
    scope: textOf(params.scope),
  };
}

/** A new client secret never changes how it is sent, whatever `type` comes with it. */
function updatedRefresh(current: Refresh, params: RefreshUpdateParams): Refresh {
  if (params.token_endpoint_auth !== undefined && current.token_endpoint_auth.type === "none") {
    throw new InvalidRequestError(
      "auth.refresh.token_endpoint_auth: this credential was created with type none, which has no client secret",
    );
  }
  const { scope } = params;
  if (scope === null || scope === undefined) return current;
  return { ...current, scope: textOf(scope) };
}

function clientSecretOf(auth: RefreshParams["token_endpoint_auth"] | undefined) {
  return auth === undefined || auth.type === "none" ? undefined : auth.client_secret;
}

function expiry(expiresAt: string | null | undefined, now: string): { expires_at?: string } {
  if (expiresAt === null || expiresAt === undefined) return {};
  const time = new Date(expiresAt).toISOString();
  if (time <= now) throw new InvalidRequestError("auth.expires_at: must be in the future");
  return { expires_at: time };
}

function textOf(text: string | null | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}
