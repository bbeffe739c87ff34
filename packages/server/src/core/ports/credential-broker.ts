import type { CredentialAuth } from "@drover/api";
import type { CredentialOffer, CredentialUse, SessionGrant } from "./session-credentials.ts";
import type { SealedSecrets } from "./vaults.ts";

/**
 * The server's part of `SessionCredentials`: who may have what, and what is stored. It hands secrets out sealed, and
 * opens none.
 */
export interface CredentialBroker {
  /** Rejects with `StoreUnavailableError` where the store cannot write: then nothing was handed out. */
  answer(question: CredentialQuestion): Promise<CredentialAnswer>;
}

/** What hands ask a server. Each may be asked again after its answer was lost. */
export type CredentialQuestion =
  | { readonly type: "offers"; readonly session: SessionGrant }
  /** A secret for a use, which is recorded. */
  | { readonly type: "release"; readonly session: SessionGrant; readonly use: CredentialUse }
  /** Requests that a released secret was put into. */
  | {
      readonly type: "used";
      readonly session: SessionGrant;
      readonly use: CredentialUse;
      readonly requests: number;
    }
  /** The right to exchange the refresh token, for half a minute. */
  | {
      readonly type: "claim_refresh";
      readonly credential: CredentialTicket;
      readonly claim_id: string;
      /** Also if its endpoint has refused it for good before. */
      readonly is_second_try: boolean;
    }
  /** What came of it. A null `expires_at` is for a token whose server does not say. */
  | {
      readonly type: "store_refresh";
      readonly credential: CredentialTicket;
      readonly claim_id: string;
      readonly secrets: SealedSecrets;
      readonly expires_at: string | null;
    }
  /** Nothing came of it; `is_refused` if its endpoint said so for good. */
  | {
      readonly type: "end_refresh";
      readonly credential: CredentialTicket;
      readonly claim_id: string;
      readonly is_refused: boolean;
    };

export type CredentialAnswer =
  | { readonly type: "offers"; readonly offers: readonly CredentialOffer[] }
  | { readonly type: "secret"; readonly secret: SealedSecret }
  | { readonly type: "oauth"; readonly credential: SealedOAuth }
  /** The claim is the asker's. */
  | { readonly type: "claimed"; readonly credential: SealedOAuth }
  /** Somebody else has the claim. */
  | { readonly type: "busy" }
  /** `is_current` is false if somebody changed the credential meanwhile: theirs stays. */
  | { readonly type: "stored"; readonly is_current: boolean }
  | { readonly type: "noted" }
  /** A sentence. */
  | { readonly type: "refused"; readonly message: string };

/** A credential that a server has handed out, by which its exchange may be asked for. */
export interface CredentialTicket {
  readonly workspace_id: string;
  readonly vault_id: string;
  readonly id: string;
  /** What a server made for it. */
  readonly ticket: string;
}

export interface SealedSecret {
  readonly sealed: string;
  /** See `SecretBox`. */
  readonly binding: string;
}

export interface SealedOAuth {
  readonly ticket: CredentialTicket;
  readonly auth: Extract<CredentialAuth, { type: "mcp_oauth" }>;
  /** By their names on the wire. */
  readonly secrets: Readonly<Record<string, SealedSecret>>;
}

/** The questions of hands, which a server comes for. */
export interface CredentialQuestions {
  /**
   * Those that wait, as soon as there is one; none after some time. Starts no hands: while there are none it waits.
   * Never rejects.
   */
  nextQuestions(signal: AbortSignal): Promise<readonly AskedQuestion[]>;
  /** Never rejects; who asked and did not hear it asks again. */
  answerQuestion(asked: AskedQuestion, answer: CredentialAnswer): Promise<void>;
}

export interface AskedQuestion {
  readonly id: string;
  /** The boot of the hands that asks. */
  readonly hands_boot: string;
  readonly question: CredentialQuestion;
}
