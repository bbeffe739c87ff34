import { requirements } from "../requirement.ts";

/** Sentences of §20 that no other area has under its own name. */
export const easilyWrong = requirements({
  "wrong.1.frames": ["20.1", "No frame lacks its event line, and the last one has its blank line."],
  "wrong.2.headers": ["20.2", "Headers are flushed before the first event."],
  "wrong.3.bearer": [
    "20.3",
    "Keys arrive as Authorization: Bearer, as the official client sends them, and as x-api-key.",
  ],
  "wrong.4.arrays": ["20.4", "Arrays arrive as name[]= or as a name that is repeated."],
  "wrong.4.nulls": ["20.4", "A null in a query arrives as an empty value and is no value."],
  "wrong.6.interrupted-call": [
    "20.6",
    "A call of a worker that is interrupted is closed by a user.tool_result of the server, so that no worker runs it again.",
  ],
  "wrong.6.late-result": ["20.6", "A worker's result that comes after the interrupt is refused."],
  "wrong.7.stale-result": ["20.7", "A result that comes too late is refused with 400, never 409."],
  "wrong.7.conflict": [
    "20.7",
    "Conflicts of versions say x-should-retry: false: the official client asks once.",
  ],
  "wrong.8.empty-poll": ["20.8", "A poll that finds nothing answers 204 or null."],
  "wrong.9.heartbeat": ["20.9", "last_heartbeat is compared byte for byte with what was answered."],
  "wrong.10.secret": ["20.10", "The secret of a work item comes with its poll alone."],
  "wrong.11.list-to-attach": [
    "20.11",
    "The list of events pages deterministically and has what was committed up to the attach of a stream.",
  ],
  "wrong.12.beta-headers": [
    "20.12",
    "Memory is reached with its own beta header, files, skills and models without any.",
  ],
  "wrong.13.last-page": ["20.13", "A list's cursor becomes null at its end."],
  "wrong.13.schemes": [
    "20.13",
    "Sessions have prev_page, models has_more, first_id and last_id, all other lists neither.",
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
  "wrong.23.tool-result": ["20.23", "A user.tool_result in a cloud session is rejected."],
  "wrong.23.resources": ["20.23", "A self-hosted session takes no resources but memory stores."],
  "wrong.24.idle-worker": ["20.24", "No work is queued for a session that is idle."],
  "wrong.25.directories": [
    "20.25",
    "The parts of a skill keep their directories, and have one directory around all of them.",
  ],
  "wrong.25.latest": ["20.25", "A skill's newest version is retrieved as latest."],
  "wrong.27.downloads": [
    "20.27",
    "A file that a user uploaded is not downloadable; what a session left is.",
  ],
  "wrong.28.webhooks": [
    "20.28",
    "A webhook's secret is standard base64, and its signature is of the exact body.",
  ],
  "wrong.29.tombstones": [
    "20.29",
    "DELETE answers a tombstone as JSON, and is found gone afterwards.",
  ],
  "wrong.29.lists": ["20.29", "Lists always answer an array of data."],
  "wrong.30.work-paths": ["20.30", "work/poll and work/stats are no work items."],
  "wrong.30.thread-stream": [
    "20.30",
    "A thread's stream is at its own path, which is not that of a session's.",
  ],
  "wrong.31.retried-create": [
    "20.31",
    "A retried create has no idempotency key, and makes one thing all the same.",
  ],
  "wrong.32.memory-resource": [
    "20.32",
    "The memory store of a session, which has no id of its own there, is addressed by the store's id.",
  ],
  "wrong.33.registries": [
    "20.33",
    "Registries are open: betas, headers and models that the server does not know are no error.",
  ],
  "wrong.34.primary-thread": [
    "20.34",
    "The primary thread exists from the start and emits its own thread status events first.",
  ],
});
