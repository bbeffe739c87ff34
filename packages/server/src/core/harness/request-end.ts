import type { EventDraft, RequestEnd } from "../session/log-event.ts";
import type { OpenRequest } from "../session/state.ts";
import { spanUsage } from "../session/usage.ts";
import { type Drafting, draft } from "./drafting.ts";

/** The event that closes a model request, however it ended. */
export function requestEnded(drafting: Drafting, requestId: string, end: RequestEnd): EventDraft {
  return draft(drafting, "span.model_request_end", {
    public: {
      model_request_start_id: requestId,
      is_error: end.outcome !== "response",
      model_usage: spanUsage(end.usage),
    },
    private: end,
  });
}

/** The same for a request that is not to be answered any more; what a held response has cost is kept. */
export function requestClosed(
  drafting: Drafting,
  { id, held }: OpenRequest,
  outcome: "interrupted" | "lost",
): EventDraft {
  return requestEnded(drafting, id, { outcome, ...(held !== null && { usage: held.usage }) });
}
