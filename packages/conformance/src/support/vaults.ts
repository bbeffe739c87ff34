import type { APIError } from "@anthropic-ai/sdk";
import type { Target } from "../target.ts";
import { refused } from "./expect.ts";

type Vaults = Target["client"]["beta"]["vaults"];
type VaultParams = Parameters<Vaults["create"]>[0];
type CredentialParams = Parameters<Vaults["credentials"]["create"]>[1];
type CredentialUpdate = Parameters<Vaults["credentials"]["update"]>[1];

export type Vault = Awaited<ReturnType<Vaults["create"]>>;
export type Credential = Awaited<ReturnType<Vaults["credentials"]["create"]>>;

const INVALID = { status: 400, type: "invalid_request_error" };

/** In every secret that scenarios send, so that it is found wherever it comes up. */
export const CANARY = "canary";

/** A secret that no other scenario sends. */
export function newSecret(t: Target): string {
  return t.unique(CANARY);
}

export async function newVault(t: Target): Promise<Vault> {
  return await vaultWith(t, {});
}

/** A new vault with any fields, also ones that the client's types forbid; undefined leaves one out. */
export async function vaultWith(t: Target, fields: object): Promise<Vault> {
  const params = { display_name: t.unique("vault"), ...fields } as VaultParams;
  return await t.client.beta.vaults.create(params);
}

export async function noVaultWith(t: Target, fields: object, says: RegExp): Promise<APIError> {
  return await refused(vaultWith(t, fields), { ...INVALID, says });
}

/** A new credential with any fields, a static bearer token unless `auth` is among them. */
export async function credentialWith(
  t: Target,
  vault: Vault,
  fields: object = {},
): Promise<Credential> {
  const params = { auth: bearer(t), ...fields } as CredentialParams;
  return await t.client.beta.vaults.credentials.create(vault.id, params);
}

export async function noCredentialWith(
  t: Target,
  vault: Vault,
  fields: object,
  says: RegExp,
): Promise<APIError> {
  return await refused(credentialWith(t, vault, fields), { ...INVALID, says });
}

export async function updatedCredential(
  t: Target,
  { id, vault_id }: Credential,
  fields: object,
): Promise<Credential> {
  const params = { vault_id, ...fields } as CredentialUpdate;
  return await t.client.beta.vaults.credentials.update(id, params);
}

export async function notUpdatedCredential(
  t: Target,
  credential: Credential,
  fields: object,
  says: RegExp,
): Promise<APIError> {
  return await refused(updatedCredential(t, credential, fields), { ...INVALID, says });
}

/** `auth` of a static bearer token for a server of its own, with any fields. */
export function bearer(t: Target, fields: object = {}) {
  return {
    type: "static_bearer",
    token: newSecret(t),
    mcp_server_url: `https://${t.unique("mcp")}.example.com/mcp`,
    ...fields,
  };
}

/** `auth` of an OAuth token. */
export function oauth(t: Target, fields: object = {}) {
  return {
    type: "mcp_oauth",
    access_token: newSecret(t),
    mcp_server_url: `https://${t.unique("mcp")}.example.com/mcp`,
    ...fields,
  };
}

/** `auth.refresh` of an OAuth token. */
export function refresh(t: Target, fields: object = {}) {
  return {
    client_id: "client-1",
    refresh_token: newSecret(t),
    token_endpoint: "https://auth.example.com/token",
    token_endpoint_auth: { type: "client_secret_basic", client_secret: newSecret(t) },
    ...fields,
  };
}

/** `auth` of an environment variable. */
export function variable(t: Target, fields: object = {}) {
  return {
    type: "environment_variable",
    secret_name: t.unique("NAME").replaceAll("-", "_"),
    secret_value: newSecret(t),
    networking: { type: "unrestricted" },
    ...fields,
  };
}

/** RFC 3339 of a moment `seconds` from now, without milliseconds. */
export function fromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+/, "");
}
