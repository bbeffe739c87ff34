import type { PageRequest } from "./sessions.ts";

/** What was decided when somebody asked for a secret. */
export interface CredentialUseFacts {
  readonly workspace_id: string;
  /** Empty for a use by a key itself. */
  readonly session_id: string;
  /** The key that made the session, or that itself asked; null where that is not known. */
  readonly api_key_id: string | null;
  /** Null for the token of a session's repository. */
  readonly vault_id: string | null;
  /** Of the credential, or of the repository among the session's resources. */
  readonly credential_id: string;
  /** Whom it was to be sent to; `*` for hosts that were too many to be told apart within a minute. */
  readonly host: string;
  readonly purpose: "egress" | "mcp" | "git" | "validation";
  readonly verdict: "released" | "refused";
  /** In words; empty for what was released. */
  readonly reason: string;
}

/** All of one kind within a minute. */
export interface CredentialUseRecord extends CredentialUseFacts {
  readonly id: string;
  /** How often the secret was asked for. */
  readonly releases: number;
  /** How many requests it was put into, as far as that was told. */
  readonly requests: number;
  readonly first_at: string;
  readonly last_at: string;
}

export interface CredentialUseFilter {
  readonly sessionId?: string;
  readonly credentialId?: string;
}

/** Who used which credential for whom: a record that outlives the session and the credential. Never the secret. */
export interface CredentialUses {
  /** By (first_at, id). */
  list(
    workspaceId: string,
    filter: CredentialUseFilter,
    page: PageRequest,
  ): Promise<readonly CredentialUseRecord[]>;
}

export interface CredentialUseWriter extends CredentialUses {
  /** Adds to what there is of this minute. `id` is for a record that begins with it. */
  add(
    facts: CredentialUseFacts,
    more: { readonly id: string; readonly releases: number; readonly requests: number },
  ): Promise<void>;
}
