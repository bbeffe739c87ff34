import type { CredentialAuth } from "@drover/api";
import { z } from "zod";
import type { CredentialSecrets } from "./credential-parts.ts";

type Refresh = NonNullable<Extract<CredentialAuth, { type: "mcp_oauth" }>["refresh"]>;

export interface TokenRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Everything secret in it, as it is written there. */
  readonly secrets: readonly string[];
}

/** What came for a refresh token. */
export interface RefreshedTokens {
  readonly access_token: string;
  /** Instead of the one that was sent, which is worth nothing any more. */
  readonly refresh_token?: string;
  /** RFC 3339; absent where the server does not say. */
  readonly expires_at?: string;
}

const TOKEN_LENGTH_MAX = 32_768;
/** Ten years. */
const EXPIRES_IN_MAX = 315_360_000;
const Token = z
  .string()
  .max(TOKEN_LENGTH_MAX)
  .regex(/^[ -~]+$/);
const TokenAnswer = z.object({
  access_token: Token,
  refresh_token: Token.nullish(),
  expires_in: z.coerce.number().positive().max(EXPIRES_IN_MAX).optional().catch(undefined),
});

/** The request that exchanges a refresh token (RFC 6749 §6), with the client's authentication. */
export function tokenRequest(refresh: Refresh, secrets: CredentialSecrets): TokenRequest {
  const { client_id, token_endpoint, token_endpoint_auth, scope, resource } = refresh;
  const refreshToken = secrets["refresh_token"] ?? "";
  const clientSecret = secrets["client_secret"] ?? "";
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
  if (scope !== null) form.set("scope", scope);
  if (resource !== null) form.set("resource", resource);
  const headers: Record<string, string> = {
    "content-type": "application/x-www-form-urlencoded",
    accept: "application/json",
  };
  const basic = btoa(`${formEncoded(client_id)}:${formEncoded(clientSecret)}`);
  if (token_endpoint_auth.type === "client_secret_basic") {
    headers["authorization"] = `Basic ${basic}`;
  } else {
    form.set("client_id", client_id);
    if (token_endpoint_auth.type === "client_secret_post") form.set("client_secret", clientSecret);
  }
  return {
    url: token_endpoint,
    headers,
    body: form.toString(),
    secrets: [refreshToken, clientSecret, ...(clientSecret === "" ? [] : [basic])],
  };
}

/** The tokens in an answer of a token endpoint; undefined if it is no such answer. `nowMs` since 1970. */
export function refreshedTokens(body: Uint8Array, nowMs: number): RefreshedTokens | undefined {
  const parsed = TokenAnswer.safeParse(jsonOf(body));
  if (!parsed.success) return undefined;
  const { access_token, refresh_token, expires_in } = parsed.data;
  return {
    access_token,
    ...(refresh_token !== null && refresh_token !== undefined && { refresh_token }),
    ...(expires_in !== undefined && {
      expires_at: new Date(nowMs + expires_in * 1000).toISOString(),
    }),
  };
}

/** Client errors are the endpoint's last word, but for those that say to come again. */
export function isDefinitive(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}

/** What RFC 6749 §5.2 has for what will never be taken. */
const FINAL_ERRORS = new Set([
  "invalid_grant",
  "invalid_client",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);
const ErrorAnswer = z.object({ error: z.string() });

/** True if a token endpoint said in its own words that the refresh token is worth nothing; a proxy may say anything. */
export function isFinalRefusal({
  status,
  body,
}: {
  readonly status: number;
  readonly body: Uint8Array;
}): boolean {
  if (status !== 400 && status !== 401) return false;
  const { data } = ErrorAnswer.safeParse(jsonOf(body));
  return data !== undefined && FINAL_ERRORS.has(data.error);
}

/** As RFC 6749 §2.3.1 has it, before base64. */
function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
