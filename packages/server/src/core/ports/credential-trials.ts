import type { CredentialValidation } from "@drover/api";
import type { SealedOAuth } from "./credential-broker.ts";

/** What came of trying a credential on its server. */
export type CredentialVerdict = Pick<CredentialValidation, "status" | "mcp_probe" | "refresh">;

export type TrialOutcome =
  | {
      readonly type: "verdict";
      readonly verdict: CredentialVerdict;
      /** Why a server was not asked, in sentences for the operator. */
      readonly problems: readonly string[];
    }
  /** No hands can be had; a sentence. */
  | { readonly type: "unavailable"; readonly message: string };

/** Tries credentials where secrets may be opened. */
export interface CredentialTrials {
  /** On its MCP server; a token that is refused is refreshed, and tried again. Never rejects. */
  try(credential: SealedOAuth, signal: AbortSignal): Promise<TrialOutcome>;
}
