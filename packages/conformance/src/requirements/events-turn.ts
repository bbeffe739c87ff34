import { requirements } from "../requirement.ts";

/** What the server emits today: §6.4 to §6.6. */
export const eventsTurn = requirements({
  "events.agent.message": ["6.4", "agent.message has content."],
  "events.agent.thinking": ["6.4", "agent.thinking is a signal: it has no content."],
  "events.agent.tool-use": [
    "6.4",
    "agent.tool_use has the tool's name and its input, as the model gave them.",
  ],
  "events.agent.tool-result": [
    "6.4",
    "agent.tool_result has the event id of its call, content, and is_error.",
  ],
  "events.agent.tool-error": ["6.4", "A call that fails is answered with is_error true."],
  "events.agent.always-allow": [
    "6.4",
    "Under always_allow a call has evaluated_permission allow and evaluation {type: always_allow}.",
  ],
  "events.agent.not-enabled": [
    "6.4",
    "A call of a tool that is not enabled has evaluated_permission deny and no evaluation.",
  ],
  "events.agent.denied-call": [
    "6.4",
    "A denied call is not run, and a synthetic error result is appended.",
  ],
  "events.agent.own-thread": [
    "6.4",
    "session_thread_id is empty on the events of the stream's own thread.",
  ],
  "events.agent.parallel": [
    "6.4",
    "Each of several calls of one response has its own event, and one result by its id.",
  ],

  "events.session.status": [
    "6.5",
    "session.status_running, _rescheduled and _terminated have no fields of their own.",
  ],
  "events.session.idle": [
    "6.5",
    "session.status_idle has stop_reason and stop_details, the latter null but for a refusal.",
  ],
  "events.session.thread-status": [
    "6.5",
    "session.thread_status_running, _rescheduled and _terminated have session_thread_id and agent_name.",
  ],
  "events.session.thread-idle": [
    "6.5",
    "session.thread_status_idle has session_thread_id, agent_name, stop_reason and stop_details.",
  ],
  "events.session.primary-first": [
    "6.5",
    "The first thread status event of a history is that of the primary thread.",
  ],
  "events.session.thread-stream": [
    "6.5",
    "Thread status events are on the thread's own stream; the primary thread's on the session's as well.",
  ],
  "events.session.usage": [
    "6.5",
    "session.usage has usage, cumulative, as the session itself shows it.",
  ],
  "events.session.updated": [
    "6.5",
    "session.updated has what changed: title, and metadata as the whole bag.",
  ],
  "events.session.updated-absent": [
    "6.5",
    "session.updated leaves out what did not change, and metadata that was cleared to empty.",
  ],
  "events.session.updated-live": [
    "6.5",
    "session.updated is on the stream when the change is made, also while a turn runs.",
  ],
  "events.session.deleted": ["6.5", "session.deleted is the last event, and its stream ends."],
  "events.session.terminated": [
    "6.5",
    "Archiving a session emits session.thread_status_terminated and session.status_terminated.",
  ],
  "events.session.terminated-input": ["16", "A terminated session takes no events."],
  "events.stop.end-turn": ["6.5", "A turn that ends by itself has the stop reason end_turn."],
  "events.stop.refusal": [
    "6.5",
    "When the model refuses, stop_reason is refusal and stop_details has category and explanation, both nullable.",
  ],
  "events.stop.retries-exhausted": [
    "6.5",
    "A turn that is given up has the stop reason retries_exhausted.",
  ],
  "events.error.form": [
    "6.5",
    "session.error has an error with type, message and retry_status {type: retrying, exhausted or terminal}.",
  ],
  "events.error.overloaded": ["6.5", "An overloaded model is told by model_overloaded_error."],
  "events.error.rate-limited": ["6.5", "A rate limit is told by model_rate_limited_error."],
  "events.error.request-failed": [
    "6.5",
    "A model request that fails otherwise is told by model_request_failed_error.",
  ],
  "events.error.billing": ["6.5", "A model API that is not paid for is told by billing_error."],
  "events.error.retrying": [
    "6.5",
    "retrying: the server tries again by itself, and the turn can still end well.",
  ],
  "events.error.rescheduled": [
    "6.5",
    "While the server waits to try again, session and thread are rescheduled, then running again.",
  ],
  "events.error.exhausted": [
    "6.5",
    "After the last attempt the error comes once as exhausted, and the session is idle.",
  ],
  "events.error.flushed": [
    "6.5",
    "exhausted flushes queued input: it is in the history and starts no turn.",
  ],
  "events.error.next-turn": [
    "6.5",
    "After a turn that was given up the next message starts a new one.",
  ],
  "events.error.compaction-limit": [
    "6.5",
    "A context that compaction cannot make fit ends the turn by compaction_limit_reached_error and retries_exhausted; the next user.message starts a new turn.",
  ],
  "events.error.tool-use-limit": [
    "6.5",
    "A turn with too many rounds of tool use ends with tool_use_limit_reached_error and retries_exhausted; the next message starts a new one.",
  ],

  "events.span.pairs": [
    "6.6",
    "Each span.model_request_start has one span.model_request_end that names it.",
  ],
  "events.span.usage": [
    "6.6",
    "span.model_request_end has model_usage with input, output, cache creation and cache read tokens.",
  ],
  "events.span.is-error": [
    "6.6",
    "is_error is false for a request that was answered, and true for one that failed or was interrupted.",
  ],
  "events.turn.order": [
    "20.5",
    "A turn begins with session.status_running and ends with thread_status_idle, session.usage, status_idle.",
  ],
  "events.turn.idle-last": [
    "20.5",
    "session.status_idle is the last event of a turn: nothing follows until the next input.",
  ],
  "events.turn.spans-around": [
    "7",
    "What a model request made lies between its span's start and end.",
  ],
});
