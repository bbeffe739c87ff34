import { requirements } from "../requirement.ts";

/** §21a: what Drover does where the contract is silent. */
export const choices = requirements({
  "choices.create.running": [
    "21a",
    "A session with initial events is created as running, one without as idle.",
  ],
  "choices.turn.order": [
    "21a",
    "A turn is session.status_running, thread_status_running, the input, its model requests, thread_status_idle, usage, status_idle.",
  ],
  "choices.queued.listed": [
    "21a",
    "Queued input is listed after the log in order of arrival, and reversed for desc.",
  ],
  "choices.queued.created-at": ["21a", "Under a created_at filter queued input is left out."],
  "choices.queued.streamed": [
    "21a",
    "Input is streamed at acceptance with processed_at null, and again with the same id when committed.",
  ],
  "choices.list.after-before": [
    "21a",
    "The list of events takes after and before, an event's id, together with filters and order.",
  ],
  "choices.list.after-unknown": [
    "21a",
    "after and before refuse an id that the session has no processed event of.",
  ],
  "choices.query.unknown": ["21a", "Unknown query parameters are refused by name."],
  "choices.spill": [
    "21a",
    "Tool output over 100,000 characters goes to a file in the sandbox; the model gets head, tail and path.",
  ],
  "choices.unbuilt": [
    "21a",
    "What is not built answers 501, names itself and says x-should-retry: false.",
  ],
  "choices.conflicts": ["21a", "A conflict that cannot change says x-should-retry: false."],
  "choices.version": [
    "21a",
    "anthropic-version 2023-06-01 and 2026-10-21 are accepted, and so is none; others are refused.",
  ],
  "choices.beta.query": ["21a", "?beta=true is accepted, and so is its absence."],
  "choices.beta.header": ["21a", "A missing beta header is accepted."],
  "choices.deleted.streams": [
    "21a",
    "A deleted session leaves a tombstone, from which every stream of it learns that it ends.",
  ],
  "choices.retry.client": [
    "21a",
    "A retried POST of the official client, whose first answer was lost, takes effect once.",
  ],
  "choices.retry.anew": ["21a", "The same POST sent anew takes effect again."],
  "choices.retry.key": ["21a", "An Idempotency-Key does the same for every client."],
  "choices.stream.late": [
    "21a",
    "A stream that is the first since input was accepted, within a minute, begins at that input.",
  ],
});
