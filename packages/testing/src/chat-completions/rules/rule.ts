import type { IncomingHttpHeaders } from "node:http";
import type { ChatModelSpec, Json } from "../types.ts";

/** Everything a rule may look at. */
export interface ChatRuleInput {
  readonly headers: IncomingHttpHeaders;
  readonly rawBytes: number;
  /** Undefined if the body is not JSON; `parseError` says why. */
  readonly body: Json | undefined;
  readonly parseError: string | undefined;
  /** The model the body names, if the double has it. */
  readonly model: ChatModelSpec | undefined;
  readonly apiKey: string;
  /** Parameters that this flavour does not take. */
  readonly refuses: readonly string[];
}

/**
 * One thing that a chat completions API refuses. `check` gives the message, or undefined if the rule
 * has nothing against the request; it must not throw, whatever the body is.
 */
export interface ChatRule {
  readonly id: string;
  /** The reference, the SDK's type or the public report that says so. */
  readonly source: string;
  readonly description: string;
  /** 400 unless given. */
  readonly status?: 401 | 404 | 413;
  /** The error's code, where clients tell it apart by that. */
  readonly code?: string;
  readonly check: (input: ChatRuleInput) => string | undefined;
}

export const REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create";
export const SDK = "openai 7.59.0 resources/chat/completions/completions.d.ts";
