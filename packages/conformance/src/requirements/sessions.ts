import { type Requirement, requirements } from "../requirement.ts";

/** Sessions: the object, making them, and their life (§5.1, §5.2, §16). */
export const sessions: readonly Requirement[] = requirements({
  "sessions.object.shape": ["5.1", "A session has every field of the contract and `type` session."],
  "sessions.object.empty-lists": [
    "5.1",
    "Resources, vault_ids and outcome_evaluations are empty arrays when there are none.",
  ],
  "sessions.object.nulls": [
    "5.1",
    "Title, budget, deployment_id and archived_at are null, not absent, when they are not set.",
  ],
  "sessions.object.required-nulls": [
    "20.15",
    "The keys budget, archived_at and agent.multiagent of a session are there when they are null.",
  ],
  "sessions.object.agent": [
    "5.1",
    "`agent` is a snapshot with id, version and everything that the agent does, without its metadata.",
  ],
  "sessions.object.snapshot": [
    "5.1",
    "Later versions of the agent do not change a session's agent.",
  ],
  "sessions.life.snapshot": [
    "16",
    "A session's snapshot of its agent is unaffected by later edits.",
  ],
  "sessions.object.duration": [
    "5.1",
    "stats.duration_seconds grows while the session is not terminated.",
  ],
  "sessions.object.duration-frozen": [
    "5.1",
    "duration_seconds freezes when the session is terminated.",
  ],
  "sessions.object.active": [
    "5.1",
    "A turn's running time is in stats.active_seconds and usage.active_seconds.",
  ],
  "sessions.object.usage": ["5.1", "Usage counts the tokens of a session's model requests."],
  "sessions.object.untracked": ["20.16", "Figures of usage are absent until they are tracked."],

  "sessions.create.agent-string": ["5.2", "An agent given as its id pins the latest version."],
  "sessions.create.agent-latest": [
    "5.2",
    "An agent reference without a version pins the latest one.",
  ],
  "sessions.create.agent-version": ["5.2", "An agent reference with a version pins that version."],
  "sessions.create.agent-unknown": [
    "5.2",
    "An agent, or a version of it, that is not there is refused.",
  ],
  "sessions.create.agent-archived": ["5.2", "An archived agent cannot be used for new sessions."],
  "sessions.create.agent-required": ["5.2", "A session needs an agent and an environment."],
  "sessions.create.environment-unknown": [
    "1.6",
    "A session in an environment that is not there is refused as environment_not_found.",
  ],
  "sessions.create.environment-archived": [
    "5.2",
    "An archived environment cannot be used for new sessions.",
  ],
  "sessions.create.title": ["5.2", "A title may be given, be null or be left out."],
  "sessions.create.metadata": [
    "5.2",
    "Metadata holds at most 16 pairs, keys of 64 and values of 512 characters.",
  ],
  "sessions.create.unknown-field": [
    "5.2",
    "A field that a session does not have is refused by name.",
  ],
  "sessions.create.idle": ["5.2", "A session without initial events starts idle."],
  "sessions.life.starts-idle": ["16", "A session starts idle, with nothing in its log."],

  "sessions.override.replaces": [
    "5.2",
    "A field of agent_with_overrides replaces the agent's for this session.",
  ],
  "sessions.override.inherits": ["5.2", "A field that is left out of the overrides is inherited."],
  "sessions.override.clears": ["5.2", "Null clears the system prompt and `[]` clears a list."],
  "sessions.override.agent-untouched": ["5.2", "Overrides leave the agent resource as it is."],
  "sessions.override.version": ["5.2", "Overrides apply to the version that is named."],
  "sessions.override.system-length": [
    "5.2",
    "An overriding system prompt has at most 100,000 characters.",
  ],
  "sessions.override.model-null": ["5.2", "A null model is refused as agent_model_required."],
  "sessions.override.effort": ["5.2", "An effort within an override is not applied."],
  "sessions.override.mcp-referenced": [
    "5.2",
    "Clearing mcp_servers that the tools still reference is refused.",
  ],

  "sessions.override.skills-need-tools": [
    "5.2",
    "Clearing the tools is refused while the session has skills.",
  ],
  "sessions.quota.metadata": ["16", "Metadata of a session has 16 pairs of 64 and 512 characters."],
  "sessions.quota.initial-events": ["16", "A session is made with at most 50 initial events."],
  "sessions.quota.system": ["16", "A system prompt in overrides has at most 100,000 characters."],

  "sessions.initial.running": ["21a", "A session with initial events is born running."],
  "sessions.initial.turn": ["5.2", "Initial events start a turn."],
  "sessions.initial.order": ["5.2", "Initial events are processed in order."],
  "sessions.initial.max": ["5.2", "There are at most 50 initial events."],
  "sessions.initial.types": [
    "5.2",
    "Initial events are user.message and user.define_outcome only.",
  ],
  "sessions.initial.no-system-message": [
    "20.22",
    "system.message is not allowed in initial_events.",
  ],
  "sessions.initial.all-or-nothing": [
    "5.2",
    "One initial event that cannot be taken makes that no session is made.",
  ],
  "sessions.initial.empty": ["5.2", "Empty initial_events are as none."],
  "sessions.initial.outcome": ["5.2", "user.define_outcome may be an initial event."],

  "sessions.turn.course": [
    "16",
    "User input leads to status_running and, at its end, to status_idle with a stop reason.",
  ],
  "sessions.turn.again": ["16", "After end_turn the next input starts another turn."],
  "sessions.turn.ends": ["16", "end_turn, refusal and retries_exhausted end a turn."],
  "sessions.life.rescheduling": [
    "16",
    "A running session may be rescheduled, and runs on after it.",
  ],
  "sessions.object.outcomes": ["5.1", "A session has one outcome evaluation for each outcome."],
  "sessions.object.outcome-open": [
    "5.1",
    "An evaluation's iteration counts from 0, and completed_at is null until it is over.",
  ],
  "sessions.object.roster": [
    "5.1",
    "The agents that a session's agent delegates to are whole definitions in its snapshot.",
  ],
  "sessions.life.terminated-final": ["16", "A terminated session stays so and takes no input."],
  "sessions.turn.requires-action": ["16", "requires_action suspends a turn until it is answered."],
  "sessions.turn.budget-reached": ["16", "budget_reached pauses a turn until the budget changes."],
});
