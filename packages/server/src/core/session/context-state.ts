/** What is known of a thread's context: where it begins, and how large it is. */
export interface ContextState {
  /** `seq` from which on the log is sent to the model as it is; 0 for the whole log. */
  readonly from: number;
  /** Tokens, system prompt and tools included, as an API last counted them; 0 if none has. */
  readonly known: number;
  /** So many tokens have come since, by our own estimate. */
  readonly added: number;
  /** Whether an API was asked to count the context just as it is, and could. */
  readonly counted: "no" | "yes" | "failed";
  /** Tokens of the model's window, where an API has told it by a refusal; else null. */
  readonly window: number | null;
  /** True if the API refused the last request as too long, and what is known does not explain it. */
  readonly overflow: boolean;
  /** Compactions in a row, without a response in between. */
  readonly compactions: number;
  /** How often in a row no summary could be had, because it was asked of too much or came out empty. */
  readonly failedSummaries: number;
  /** True if compacting was given up: the next time nobody is asked, and the older part is cut off. */
  readonly mustCut: boolean;
}

export const NEW_CONTEXT: ContextState = {
  from: 0,
  known: 0,
  added: 0,
  counted: "no",
  window: null,
  overflow: false,
  compactions: 0,
  failedSummaries: 0,
  mustCut: false,
};
