import type { IncomingHttpHeaders } from "node:http";
import type { Signer } from "../signature.ts";
import type { Json, ModelSpec } from "../types.ts";

/** Everything a rule may look at. */
export interface RuleInput {
  readonly headers: IncomingHttpHeaders;
  readonly rawBytes: number;
  readonly raw: string;
  /** Undefined if `raw` is not JSON; `parseError` says why. */
  readonly body: Json | undefined;
  readonly parseError: string | undefined;
  /** The model the body names, if the double has it. */
  readonly model: ModelSpec | undefined;
  readonly apiKey: string;
  /** Overrides the model's own window. Tokens. */
  readonly contextTokens: number | undefined;
  readonly signer: Signer;
}

/**
 * One thing the real API refuses. `check` gives the API's message, or undefined if the rule has
 * nothing against the request; it must not throw, whatever the body is.
 */
export interface Rule {
  readonly id: string;
  /** The documentation page, SDK type or public report that says so. */
  readonly source: string;
  readonly description: string;
  /** 400 `invalid_request_error` unless given. */
  readonly status?: 401 | 404 | 413;
  readonly check: (input: RuleInput) => string | undefined;
}

export const DOCS = "https://platform.claude.com/docs/en";
export const SDK = "@anthropic-ai/sdk resources/messages";
