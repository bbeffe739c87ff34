import { requirements } from "../requirement.ts";

/** Sentences of §20 that no other area has under its own name. */
export const easilyWrong = requirements({
  "wrong.1.frames": ["20.1", "No frame lacks its event line, and the last one has its blank line."],
  "wrong.2.headers": ["20.2", "Headers are flushed before the first event."],
  "wrong.7.conflict": [
    "20.7",
    "Conflicts of versions say x-should-retry: false: the official client asks once.",
  ],
  "wrong.11.list-to-attach": [
    "20.11",
    "The list of events pages deterministically and has what was committed up to the attach of a stream.",
  ],
  "wrong.15.omitted": [
    "20.15",
    "Absent, not null: fields of session.updated that did not change, evaluated_permission, session_thread_id.",
  ],
  "wrong.16.usage": [
    "20.16",
    "Figures of usage are absent until they are tracked, and numbers then.",
  ],
  "wrong.17.early-answer": ["20.17", "Answering is allowed before the idle event."],
  "wrong.17.remainder": [
    "20.17",
    "requires_action lists every event that blocks, and is emitted again with the remainder.",
  ],
  "wrong.18.thread-ignored": [
    "20.18",
    "Results are keyed by event id; a session_thread_id that the client sends is ignored.",
  ],
  "wrong.18.echo-thread": ["20.18", "The echo of an answer to a child has its session_thread_id."],
  "wrong.19.preview-ids": [
    "20.19",
    "Preview ids are allocated before generation and reused by the buffered event.",
  ],
  "wrong.19.closed-by-span": [
    "20.19",
    "Where there is no buffered event, span.model_request_end comes instead.",
  ],
  "wrong.20.deleted": ["20.20", "session.deleted is delivered, then the stream is closed."],
  "wrong.21.outcome-echo": ["20.21", "The echo of define_outcome has processed_at."],
  "wrong.22.system-message": [
    "20.22",
    "A system.message is not allowed among a session's initial events.",
  ],
  "wrong.31.retried-create": [
    "20.31",
    "A retried create has no idempotency key, and makes one thing all the same.",
  ],
  "wrong.34.primary-thread": [
    "20.34",
    "The primary thread exists from the start and emits its own thread status events first.",
  ],
});
