import { requirements } from "../requirement.ts";

/** What clients send: §6.1 to §6.3. */
export const events = requirements({
  "events.direction.client-types": [
    "6.1",
    "A client may send seven types of event: each is known by its name, and its fields are checked.",
  ],
  "events.direction.server-types": [
    "6.1",
    "An event of a type that only the server emits, or of no known type, is refused.",
  ],
  "events.envelope.types": ["6.1", "A history has events of the contract's persisted types only."],
  "events.envelope.id-and-type": ["6.1", "Every persisted event has an id and a type."],
  "events.envelope.server-time": [
    "6.1",
    "Every event of the server has processed_at, an RFC 3339 time.",
  ],
  "events.envelope.client-time": [
    "6.1",
    "An event of a client has processed_at null while it is queued, and a time afterwards.",
  ],

  "events.content.text": ["6.2", "A user.message takes text blocks."],
  "events.content.image-base64": [
    "6.2",
    "A user.message takes images as base64 of the types png, jpeg, gif and webp.",
  ],
  "events.content.image-url": ["6.2", "A user.message takes images by URL."],
  "events.content.image-file": ["6.2", "A user.message takes images by file id."],
  "events.content.document-base64": ["6.2", "A user.message takes documents as base64."],
  "events.content.document-text": ["6.2", "A user.message takes documents as plain text."],
  "events.content.document-url": ["6.2", "A user.message takes documents by URL."],
  "events.content.document-file": ["6.2", "A user.message takes documents by file id."],
  "events.content.file-fits": [
    "6.2",
    "A file that is not there, or is no image or document, is refused where it is to be one.",
  ],
  "events.content.file-count": ["6.2", "At most 100 documents of one request are files."],
  "events.content.file-gone": [
    "6.2",
    "A session goes on after a file of one of its messages was deleted.",
  ],
  "events.content.document-title": [
    "6.2",
    "A document may have a title and a context, both nullable.",
  ],
  "events.content.message-blocks": [
    "6.2",
    "A user.message takes no search_result and no block of an unknown type.",
  ],
  "events.content.redacted": ["6.2", "A redacted block of a client is refused with 400."],
  "events.content.sources": [
    "6.2",
    "A source is of a kind that its block takes: an image has none of type text, a text source is text/plain.",
  ],
  "events.content.tool-results": [
    "6.2",
    "Tool results take text, images, documents and search results.",
  ],
  "events.content.no-redacted-results": ["6.2", "Tool results take no redacted block."],
  "events.content.system-text-only": ["6.2", "A system.message takes text only."],
  "events.content.agent-message": ["6.2", "An agent.message holds text and redacted blocks only."],

  "events.send.echo": [
    "6.3",
    "Sending answers with data: one echo for each event sent, in order, with its id.",
  ],
  "events.send.ids": [
    "6.3",
    "The ids of the echoes are those of the events in the list and on the stream.",
  ],
  "events.send.all-or-nothing": ["6.3", "One event that is refused refuses the whole request."],
  "events.send.body": ["6.3", "The body is an object with events, a list that is not empty."],
  "events.send.unknown-fields": ["6.3", "A field that an event does not have is refused by name."],
  "events.message.content-required": ["6.3", "A user.message needs content that is not empty."],
  "events.message.order": ["6.3", "Messages are queued and taken up in the order of arrival."],
  "events.message.queued-while-running": [
    "6.3",
    "A message that is sent while a turn runs is accepted, and waits.",
  ],
  "events.interrupt.ends-turn": ["6.3", "An interrupt ends the turn with end_turn."],
  "events.interrupt.absent-thread": [
    "6.3",
    "Without session_thread_id, or with null, an interrupt is for the primary thread of a single-agent session.",
  ],
  "events.interrupt.named-thread": [
    "6.3",
    "An interrupt with session_thread_id is for that thread; one for a thread that is not there is refused.",
  ],
  "events.interrupt.jumps-queue": [
    "6.3",
    "An interrupt overtakes messages that wait; they are taken up by the next turn.",
  ],
  "events.interrupt.idle": ["6.3", "An interrupt of an idle session starts no turn."],
  "events.interrupt.calls": [
    "6.3",
    "An interrupt answers running tool calls with an error result and does not wait for their end.",
  ],
  "events.interrupt.with-input": [
    "6.3",
    "An interrupt of an idle session ends the messages that came before it, not those behind it.",
  ],
  "events.interrupt.waiting-calls": [
    "6.3",
    "An interrupt ends the wait for a client's answers, which are refused afterwards.",
  ],
  "events.interrupt.children": [
    "6.3",
    "Without session_thread_id an interrupt is for every thread that is not archived.",
  ],
  "events.confirmation.deny-message": ["6.3", "deny_message goes only with result deny."],
  "events.confirmation.fields": [
    "6.3",
    "A confirmation needs tool_use_id and result allow or deny.",
  ],
  "events.confirmation.unknown-call": [
    "6.3",
    "A confirmation of a call that does not wait for one is refused.",
  ],
  "events.custom-result.fields": [
    "6.3",
    "A custom tool result needs custom_tool_use_id; content and is_error may be left out.",
  ],
  "events.custom-result.unknown-call": [
    "6.3",
    "A result of a custom call that is not there is refused.",
  ],
  "events.custom-result.early": [
    "6.3",
    "A custom tool result is valid as soon as its agent.custom_tool_use arrived, before the session is idle.",
  ],
  "events.tool-result.self-hosted-only": [
    "6.3",
    "A user.tool_result is refused in an environment that is not self-hosted.",
  ],
  "events.outcome.description": ["6.3", "An outcome needs a description and a rubric."],
  "events.outcome.rubric-length": ["6.3", "The text of a rubric has at most 262,144 characters."],
  "events.outcome.iterations": ["6.3", "max_iterations is a whole number from 1 to 20."],
  "events.outcome.accepted": [
    "6.3",
    "An outcome with a rubric of text or of a file is accepted, and the agent starts on receipt.",
  ],
  "events.outcome.default-iterations": ["6.3", "Without max_iterations there are 3."],
  "events.system.once": ["6.3", "A request has at most one system.message."],
  "events.system.final": ["6.3", "A system.message is the final event of its request."],
  "events.system.companion": [
    "6.3",
    "A system.message directly follows a user.message, user.tool_result or user.custom_tool_result.",
  ],
  "events.system.blocks": ["6.3", "A system.message has 1 to 1,000 blocks."],
  "events.system.accepted": [
    "6.3",
    "A system.message that is placed right is accepted, and reaches the model as a system turn.",
  ],
  "events.system.model": [
    "6.3",
    "A system.message is refused for models that take no system turns within a conversation.",
  ],
  "events.system.requires-action": [
    "6.3",
    "While a session waits for answers, a system.message is taken only along with a result in the same request.",
  ],
  "events.access.workspace": [
    "1.1",
    "Events of another workspace's session are not found, as if it were not there.",
  ],
  "events.access.read-only": ["1.1", "A key that may only read sends no events: 403."],
  "events.answers.event-ids": ["6.3", "Calls are answered by event ids, never by the model's ids."],
  "events.answers.routed": [
    "6.3",
    "Answers are routed by the tool's id; clients send no session_thread_id with them.",
  ],
  "events.answers.echo-thread": [
    "6.3",
    "The echo of an answer that was routed to a child thread has its session_thread_id; for the primary thread it is left out.",
  ],
});
