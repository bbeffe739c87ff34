import { type Requirement, requirements } from "../requirement.ts";

/** Sessions: changing, listing, archiving and deleting them (§5.3 to §5.5). */
export const sessionChanges: readonly Requirement[] = requirements({
  "sessions.update.title": [
    "5.3",
    "A title is kept when left out, replaced when given, cleared by null.",
  ],
  "sessions.update.metadata": [
    "5.3",
    "Metadata is patched by key: a null value deletes the key, a null or absent field keeps all.",
  ],
  "sessions.update.metadata-max": ["5.3", "Metadata has at most 16 pairs after the patch."],
  "sessions.update.event": [
    "5.3",
    "A change is told by one session.updated with the changed fields only.",
  ],
  "sessions.update.event-metadata": [
    "6.5",
    "session.updated holds the whole new metadata, and none when it was cleared to empty.",
  ],
  "sessions.update.event-omits": [
    "20.15",
    "Fields of session.updated that did not change are absent, not null.",
  ],
  "sessions.update.no-change": ["5.3", "An update that changes nothing emits no session.updated."],
  "sessions.update.tools": [
    "5.3",
    "agent.tools replaces the session's tools, and `[]` clears them.",
  ],
  "sessions.update.tools-event": [
    "6.5",
    "session.updated carries the whole agent when its tools changed.",
  ],
  "sessions.update.agent-untouched": [
    "5.3",
    "A session's change of tools leaves the agent resource as it is.",
  ],
  "sessions.update.skills-need-tools": [
    "5.3",
    "Clearing the tools of a session that has skills is refused.",
  ],
  "sessions.update.history": [
    "5.3",
    "A conversation with calls of tools that are gone goes on, also without any tool.",
  ],
  "sessions.update.running": ["5.3", "An update of agent is refused while the session is running."],
  "sessions.update.next-turn": ["5.3", "New tools apply from the next turn."],
  "sessions.life.next-turn": ["16", "Updates of a session apply to its next turn."],
  "sessions.update.mcp-rules": [
    "5.3",
    "Tools and MCP servers are checked against each other as at creation.",
  ],
  "sessions.update.vault-ids": ["5.3", "vault_ids is always refused."],
  "sessions.update.budget-create-only": [
    "5.3",
    "A budget cannot be added to a session that was made without one: budget_create_only.",
  ],
  "sessions.update.budget-null": ["5.3", "A null budget is accepted where there is none."],
  "sessions.update.budget-replace": ["5.3", "A session's budget can be raised."],
  "sessions.update.budget-not-raised": [
    "5.3",
    "A budget that does not exceed what was consumed is refused as budget_not_raised.",
  ],
  "sessions.update.budget-removed": ["5.3", "A removed budget cannot come back."],
  "sessions.create.budget": ["5.2", "A session may be made with a budget, which it shows."],
  "sessions.object.money": ["5.1", "Amounts of money are whole minor units as text, in USD."],
  "sessions.create.budget-amount": [
    "20",
    "An amount that is no text of whole minor units is refused.",
  ],
  "sessions.update.immutable": ["5.3", "What an update cannot change is refused by name."],

  "sessions.list.default-order": ["5.4", "Sessions are listed newest first."],
  "sessions.list.order": ["5.4", "order=asc lists the oldest first."],
  "sessions.list.agent": ["5.4", "agent_id matches the agent that a session was made of."],
  "sessions.list.agent-version": [
    "5.4",
    "agent_version narrows agent_id, and says nothing without it.",
  ],
  "sessions.list.deployment": [
    "5.4",
    "deployment_id matches what a deployment made: nothing for an unknown one.",
  ],
  "sessions.list.archived": ["5.4", "Archived sessions are listed only with include_archived."],
  "sessions.list.statuses": ["5.4", "Several statuses match any of them."],
  "sessions.list.created-at": [
    "5.4",
    "created_at[gt,gte,lt,lte] bound the time, gte and lte inclusively.",
  ],
  "sessions.list.pages": [
    "1.7",
    "Pages of sessions have next_page and prev_page, which lead there and back.",
  ],
  "sessions.list.prev-null": ["1.7", "prev_page is null on the first page, next_page on the last."],
  "sessions.list.keys": ["20.13", "Lists of sessions always have prev_page, and null ends them."],
  "sessions.list.refusals": ["5.4", "Filters that no session could have are refused by name."],

  "sessions.archive.terminated": [
    "5.5",
    "An archived session reports terminated, with archived_at set.",
  ],
  "sessions.archive.told": ["5.5", "Archiving is told by session.status_terminated."],
  "sessions.archive.worker": [
    "20.20",
    "Archived means status terminated, so that workers pass it over.",
  ],
  "sessions.archive.no-input": ["5.5", "An archived session takes no events and no changes."],
  "sessions.archive.readable": ["5.5", "An archived session's log stays."],
  "sessions.archive.running": ["5.5", "A running session cannot be archived."],
  "sessions.delete.tombstone": ["5.5", "Deleting answers {id, type: session_deleted}."],
  "sessions.delete.json": ["20.29", "Deleting a session answers its tombstone as JSON with 200."],
  "sessions.delete.permanent": ["5.5", "A deleted session, its events and its threads are gone."],
  "sessions.delete.files": ["5.5", "The files that belong to a session go with it."],
  "sessions.delete.stream": ["5.5", "Open streams get session.deleted last, and end."],
  "sessions.delete.stream-closed": [
    "20.20",
    "session.deleted is delivered, then the stream is closed.",
  ],
  "sessions.delete.running": ["5.5", "A running session cannot be deleted."],
  "sessions.delete.archived": ["5.5", "An archived session can be deleted."],
});
