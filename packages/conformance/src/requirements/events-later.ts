import { requirements } from "../requirement.ts";

/** Custom tools, confirmations, MCP, outcomes, budgets, threads and workflows: §6.3 to §6.7. */
export const eventsLater = requirements({
  "events.agent.custom-tool-use": [
    "6.4",
    "agent.custom_tool_use has name and input, and no evaluated_permission.",
  ],
  "events.agent.always-ask": [
    "6.4",
    "Under always_ask a call has evaluated_permission ask and evaluation {type: always_ask}, and waits.",
  ],
  "events.agent.ask-allowed": ["6.4", "A call that is confirmed with allow is run."],
  "events.agent.ask-denied": [
    "6.4",
    "A call that is denied is not run: its error result tells the model so, with deny_message.",
  ],
  "events.agent.auto": [
    "6.4",
    "Under auto evaluation holds the judgement, whose type equals evaluated_permission.",
  ],
  "events.agent.auto-reasons": [
    "6.4",
    "An ask under auto has a reason_code, and so has a deny, which is not run.",
  ],
  "events.agent.auto-allowed": [
    "6.4",
    "A call that is judged to be allowed is run without asking.",
  ],
  "events.agent.auto-indeterminate": [
    "6.4",
    "A call that could not be judged waits for its confirmation, with reason_code indeterminate.",
  ],
  "events.answers.kinds": [
    "6.3",
    "A confirmation answers a call that asks, a result one of a custom tool, and neither the other.",
  ],
  "events.answers.whole": [
    "6.3",
    "Answers may come together; one that is wrong, or a second one to a call, refuses its whole request.",
  ],
  "events.message.blocked": [
    "6.3",
    "A message that is sent while calls wait for the client is taken up once they are answered.",
  ],
  "events.agent.mcp": [
    "6.4",
    "agent.mcp_tool_use has mcp_server_name, name and input; agent.mcp_tool_result has mcp_tool_use_id.",
  ],
  "events.agent.compacted": [
    "6.4",
    "agent.thread_context_compacted tells that the context was compacted.",
  ],
  "events.agent.thread-messages": [
    "6.4",
    "agent.thread_message_sent is on the sender's stream and _received on the receiver's, naming the other thread.",
  ],
  "events.agent.cross-posted": [
    "6.4",
    "A child's call that needs the client is cross-posted to the primary stream with session_thread_id.",
  ],
  "events.session.thread-created": [
    "6.5",
    "session.thread_created has session_thread_id, agent_name and workflow_run_id, on the parent's stream.",
  ],
  "events.session.child-status": [
    "6.5",
    "A child's thread status events are cross-posted to the primary stream.",
  ],
  "events.session.usage-budget": ["6.5", "session.usage has the budget of a session that has one."],
  "events.session.updated-agent": [
    "6.5",
    "session.updated has the whole agent when its tools changed, and budget null when it was removed.",
  ],
  "events.stop.requires-action": [
    "6.5",
    "A session that waits for its client is idle with requires_action and the ids of what it waits for.",
  ],
  "events.stop.partial-answers": [
    "6.5",
    "Answering some of the calls emits status_idle again with the rest; answering all makes it run.",
  ],
  "events.stop.budget-reached": [
    "6.5",
    "At its budget a session pauses with budget_reached, and goes on once the budget is raised.",
  ],
  "events.error.mcp": [
    "6.5",
    "An MCP server that cannot be reached or authenticated with is told by its own errors, with mcp_server_name.",
  ],
  "events.error.credential-host": [
    "6.5",
    "credential_host_unreachable_error names credential and vault.",
  ],
  "events.error.repository": [
    "6.5",
    "A repository that cannot be cloned is told with retry_status retrying and repository_url; the session goes on.",
  ],
  "events.span.outcome": [
    "6.6",
    "Outcome evaluations have start, ongoing and end spans with outcome_id and iteration; the end has result, explanation and usage.",
  ],
  "events.span.outcome-results": [
    "6.6",
    "result is satisfied, needs_revision, max_iterations_reached, failed or interrupted, and the session goes idle after the last.",
  ],
  "events.workflow.created": [
    "6.7",
    "workflow_run.created is the first event of a run, with its name, description and phases.",
  ],
  "events.workflow.phases": [
    "6.7",
    "phase_started and phase_ended come in pairs, all of them before status_ended.",
  ],
  "events.workflow.ended": ["6.7", "workflow_run.status_ended is last, with its result."],
  "events.workflow.error": [
    "6.7",
    "workflow_run.error comes before an end by error, with the same.",
  ],
  "events.workflow.threads": ["6.7", "The threads of a run are terminated when it ends."],
});
