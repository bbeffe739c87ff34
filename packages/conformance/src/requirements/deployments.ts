import { requirements } from "../requirement.ts";

export const deployments = requirements({
  "deployments.object": ["8.1", "A deployment says `type: deployment` and has an id."],
  "deployments.object.times": [
    "8.1",
    "created_at and updated_at are RFC 3339; archived_at is null.",
  ],
  "deployments.object.defaults": [
    "8.1",
    "Without them description, schedule and paused_reason are null, resources and vault_ids empty, status active.",
  ],
  "deployments.agent.latest": [
    "8.1",
    "An agent given as a string is pinned to its latest version.",
  ],
  "deployments.agent.version": ["8.1", "An agent given with a version is pinned to that."],
  "deployments.agent.pinned": ["8.1", "A later version of the agent changes no deployment."],
  "deployments.agent.overrides": ["8.1", "An agent with overrides is refused."],
  "deployments.agent.unknown": ["8.1", "An agent that there is not is refused."],
  "deployments.required": [
    "8.1",
    "A deployment needs agent, environment_id, initial_events and name.",
  ],
  "deployments.events": [
    "8.1",
    "initial_events are user.message, user.define_outcome or system.message, and come back without ids.",
  ],
  "deployments.events.count": ["8.1", "There are 1 to 50 initial_events."],
  "deployments.metadata": ["8.1", "Metadata comes back, with at most 16 pairs, 64 and 512."],
  "deployments.vaults": ["8.1", "vault_ids come back, at most 50."],
  "deployments.resources": ["8.1", "resources come back without their tokens, at most 500."],
  "deployments.schedule": [
    "8.1",
    "A cron schedule comes back with up to 5 upcoming_runs_at and without a last_run_at.",
  ],
  "deployments.schedule.fields": [
    "8.1",
    "An expression has five fields: no seconds, no years, no L, W, # or ?, no @daily.",
  ],
  "deployments.schedule.sunday": ["8.1", "0 and 7 are both Sunday."],
  "deployments.schedule.timezone": ["8.1", "A timezone is needed, and is one of IANA's."],
  "deployments.schedule.wall-clock": [
    "8.1",
    "upcoming_runs_at are the wall clock times of the timezone, also after it changes.",
  ],
  "deployments.update.keep": ["8.1", "What an update leaves out is kept."],
  "deployments.update.agent": [
    "8.1",
    "A string pins the agent's latest version anew, an object the version that it says.",
  ],
  "deployments.update.name": ["8.1", "name, environment_id and initial_events cannot be cleared."],
  "deployments.update.events": ["8.1", "initial_events are replaced, by 1 to 50."],
  "deployments.update.description": ["8.1", "An empty or null description clears it."],
  "deployments.update.metadata": ["8.1", "Metadata is a patch: a string sets, null deletes."],
  "deployments.update.lists": [
    "8.1",
    "resources and vault_ids are replaced, and cleared by an empty list or null.",
  ],
  "deployments.update.schedule": ["8.1", "A schedule is replaced; null leaves it manual only."],
  "deployments.update.budget": [
    "8.1",
    "A budget is replaced; null clears it, and it may be added again.",
  ],
  "deployments.pause": [
    "8.1",
    "Pausing answers the deployment, paused, with paused_reason `{type: manual}`.",
  ],
  "deployments.pause.upcoming": ["8.1", "A paused deployment has upcoming_runs_at."],
  "deployments.unpause": ["8.1", "Unpausing answers it active, with paused_reason null."],
  "deployments.archive": ["8.1", "An archived deployment is active with archived_at set."],
  "deployments.archive.upcoming": ["8.1", "An archived deployment has no upcoming_runs_at."],
  "deployments.retrieve.unknown": ["8.1", "A deployment that there is not is not found."],
  "deployments.list": [
    "8.1",
    "Deployments are listed by agent_id and status, archived ones with include_archived only.",
  ],
  "deployments.list.status": ["8.1", "status and include_archived together are refused."],
  "deployments.list.paged": ["8.1", "Deployments are paged, each is seen once."],
  "deployments.run": [
    "8.2",
    "Running answers a deployment_run with its agent, trigger manual and the session that it made.",
  ],
  "deployments.run.session": [
    "8.2",
    "The session has the deployment's id, agent, environment and events.",
  ],
  "deployments.run.paused": ["8.1", "A paused deployment can be run by hand."],
  "deployments.run.last": ["8.1", "A run by hand is no last_run_at."],
  "deployments.run.failed": [
    "8.2",
    "A run whose session cannot be made has an error with type and message, and no session_id.",
  ],
  "deployments.run.failed-manual": ["8.2", "A failed run by hand pauses nothing."],
  "deployments.fires": [
    "8.2",
    "A schedule fires once for each of its times, at which scheduled_at is in UTC before jitter.",
  ],
  "deployments.fires.last": ["8.1", "last_run_at is the start of the last scheduled run."],
  "deployments.fires.failed": [
    "8.2",
    "A scheduled failure pauses the deployment with an error of the same type.",
  ],
  "runs.retrieve": ["8.2", "A run is retrieved as it was answered."],
  "runs.retrieve.unknown": ["8.2", "A run that there is not is not found."],
  "runs.list": ["8.2", "Runs are listed by deployment_id, has_error and trigger_type."],
  "runs.list.unknown": ["8.2", "A deployment_id that there is not gives an empty list."],
  "runs.list.created": ["8.2", "Runs are listed within created_at."],
  "runs.list.paged": ["8.2", "Runs are paged, each is seen once."],
});
