import { requirements } from "../requirement.ts";

/** §7, and the framing of §1.8. */
export const streams = requirements({
  "streams.content-type": ["1.8", "A stream is text/event-stream, whatever Accept says."],
  "streams.event-line": ["1.8", "Every frame has an event line with the event's type."],
  "streams.data-line": ["1.8", "Every frame has its JSON on one data line."],
  "streams.blank-line": ["1.8", "Every frame is ended by a blank line, also the last of a stream."],
  "streams.keep-alive": ["1.8", "A quiet stream is kept open by pings or comments."],
  "streams.headers-at-once": ["1.8", "Headers are sent at once, before there is any event."],
  "streams.stalled-reader": [
    "1.8",
    "A reader that takes nothing holds up neither the session nor other readers, and misses no event.",
  ],
  "streams.last-event-id": ["1.8", "Last-Event-ID is ignored."],
  "streams.auth": ["1.1", "A stream needs a key, as everything else does."],

  "streams.session": ["7", "A session's stream shows its primary thread."],
  "streams.thread": ["7", "A thread's stream is at …/threads/{id}/stream and shows that thread."],
  "streams.thread-only": ["7", "A thread's stream shows nothing of other threads."],
  "streams.unknown": ["7", "A stream of a session or thread that is not there is 404."],
  "streams.live-only": ["7", "A stream shows what happens from when it was opened."],
  "streams.attach": ["7", "An event committed after the headers were sent reaches the stream."],
  "streams.resume": [
    "7",
    "A stream that is opened, and then the list, have every event between them: none is lost.",
  ],
  "streams.order": ["7", "Events come in the order of the list, each once."],
  "streams.many-readers": ["7", "All readers of a session see the same events."],
  "streams.stays-open": ["7", "A stream stays open while the session is idle."],
  "streams.deleted": [
    "7",
    "When the session is deleted, each of its streams ends with session.deleted.",
  ],
  "streams.terminated": ["7", "A stream of a terminated session opens, and shows nothing new."],
  "streams.queued-twice": ["7", "Queued input comes at acceptance and again when it is taken up."],

  "streams.previews.opt-in": ["7", "Previews come only to streams that ask for their type."],
  "streams.previews.per-connection": ["7", "Asking for previews is for one connection."],
  "streams.previews.parameter": [
    "7",
    "event_deltas[] takes agent.message and agent.thinking; another value is refused with 400.",
  ],
  "streams.previews.parameter-max": [
    "7",
    "event_deltas[] takes up to 100 values; more are refused.",
  ],
  "streams.previews.form": [
    "7",
    "event_start has event {type, id}; event_delta has event_id and delta with content of type text.",
  ],
  "streams.previews.same-id": ["7", "The event that was previewed has the id of its preview."],
  "streams.previews.prefix": [
    "7",
    "The deltas of a message add up to what it says, or its beginning.",
  ],
  "streams.previews.indices": ["7", "The indices of deltas begin at 0 and have no gaps."],
  "streams.previews.one-at-a-time": ["7", "One message is previewed at a time on a connection."],
  "streams.previews.start-once": ["7", "A preview has one event_start, before its deltas."],
  "streams.previews.thinking": ["7", "agent.thinking is previewed by its event_start alone."],
  "streams.previews.accumulate": [
    "7",
    "The official client's accumulator makes of a preview what the buffered event says.",
  ],
  "streams.previews.no-own-fields": ["7", "Previews have no id and no processed_at of their own."],
  "streams.previews.history": ["7", "Previews are never in the history."],
  "streams.previews.place": [
    "7",
    "A preview comes between the span's start and the event, which comes before the span's end.",
  ],
  "streams.previews.interrupt": [
    "7",
    "A request that is interrupted has no buffered event: its span.model_request_end closes the preview.",
  ],
  "streams.previews.thread": ["7", "A thread's stream shows the previews of its thread."],
});
