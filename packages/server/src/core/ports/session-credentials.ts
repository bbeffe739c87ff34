import type { Secret } from "../../lib/secret.ts";

/**
 * What a session may use of its vaults and of its repositories' tokens, as the hands see it: what there is, without a
 * secret, and a secret where one is used. Nobody who makes prompts has this port.
 *
 * What every implementation promises (proved by `session-credentials.testsuite.ts`):
 * - What is rotated, archived or deleted is so for a use one second later, also of a session that runs.
 * - A secret is given out only after it was recorded who uses it, and for which host.
 * - No method rejects, and no message holds a secret. Where no server can be asked within 30 seconds, or before the
 *   signal is aborted, the answer is `unavailable`.
 */
export interface SessionCredentials {
  offers(signal: AbortSignal): Promise<CredentialOffers>;
  /** The secret for one use now; of an OAuth credential a token that has not expired, refreshed if need be. */
  release(use: CredentialUse, signal: AbortSignal): Promise<CredentialRelease>;
  /**
   * The secret anew, because the server of the use refused `rejected`: a token that was changed meanwhile, or one that
   * is refreshed now, once for all who ask. `refused` if there is no other.
   */
  renew(use: CredentialUse, rejected: Secret, signal: AbortSignal): Promise<CredentialRelease>;
  /** Adds to the record of a use what came of it: how many requests, since this was told the last time. */
  used(use: CredentialUse, requests: number): void;
  /** Every secret that was given out for the session since this process began, also what is worth nothing any more. */
  known(): readonly Secret[];
}

/** The credentials of each session. */
export interface CredentialSource {
  of(session: SessionGrant): SessionCredentials;
}

/** By what the hands may ask for a session's credentials. */
export interface SessionGrant {
  readonly workspaceId: string;
  readonly sessionId: string;
  /** What a server made for this session; no other session's opens with it. */
  readonly grant: string;
}

export type CredentialOffers =
  | { readonly type: "offers"; readonly offers: readonly CredentialOffer[] }
  /** A sentence. */
  | { readonly type: "unavailable"; readonly message: string };

/** A credential that the session has now: the first vault's, where two are for the same. */
export type CredentialOffer = VariableOffer | McpOffer | RepositoryOffer;

export interface VariableOffer {
  readonly type: "environment_variable";
  readonly credential_id: string;
  readonly vault_id: string;
  /** The name of the variable. */
  readonly secret_name: string;
  /** Stands for the secret inside; the same for the session's whole life. */
  readonly placeholder: string;
  /** Whom the secret may be sent to; null for every host that the sandbox may reach. */
  readonly allowed_hosts: readonly string[] | null;
  readonly injection_location: { readonly header: boolean; readonly body: boolean };
  /** Requests that it may be put into; absent for all. */
  readonly binding?: CredentialBinding;
}

/** A request is permitted if it matches both; what is absent matches all. */
export interface CredentialBinding {
  /** In capitals. */
  readonly methods?: readonly string[];
  /** Of the path without its query: `/v1/items` is that path alone, `/v1/items/*` everything below it. */
  readonly paths?: readonly string[];
}

/** A token for an MCP server. */
export interface McpOffer {
  readonly type: "static_bearer" | "mcp_oauth";
  readonly credential_id: string;
  readonly vault_id: string;
  /** As `normalizedUrl` writes it. */
  readonly mcp_server_url: string;
}

/** The token of a repository, sent as the password of `x-access-token`. */
export interface RepositoryOffer {
  readonly type: "repository";
  /** Of the session's resource. */
  readonly resource_id: string;
  /** `https://host/owner/name`. */
  readonly url: string;
}

export interface CredentialUse {
  /** `credential_id`, or the `resource_id` of a repository. */
  readonly id: string;
  /** Whom it is sent to: a name or an address, in small letters. */
  readonly host: string;
  readonly purpose: "egress" | "mcp" | "git";
}

export type CredentialRelease =
  | { readonly type: "released"; readonly secret: Secret }
  /** It is not the session's any more, or is worth nothing: a sentence. */
  | { readonly type: "refused"; readonly message: string }
  /** No server could be asked in time; a sentence. */
  | { readonly type: "unavailable"; readonly message: string };
