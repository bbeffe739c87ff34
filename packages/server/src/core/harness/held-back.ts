import type { EventDraft, LogEvent } from "../session/log-event.ts";
import { type Drafting, sessionError } from "./drafting.ts";

/**
 * Shows what a model was not sent because it cannot take it: a sentence each, once, as an error that
 * ends nothing. What was shown before is known by the ends of earlier requests in the context, so it is
 * shown again after a compaction at most.
 */
export function heldBackDrafts(
  heldBack: readonly string[],
  context: readonly LogEvent[],
  drafting: Drafting,
): readonly EventDraft[] {
  if (heldBack.length === 0) return [];
  const shown = new Set(
    context.flatMap((event) =>
      event.type === "span.model_request_end" ? (event.private.held_back ?? []) : [],
    ),
  );
  return heldBack
    .filter((sentence) => !shown.has(sentence))
    .map((message) =>
      sessionError(drafting, {
        type: "unknown_error",
        message,
        retry_status: { type: "retrying" },
      }),
    );
}
