import { z } from "zod";
import { serverEvent } from "./envelope.ts";

/** What happens to a workflow run (wire §6.7). */

export const WorkflowRunError = z.object({
  type: z.enum([
    "timeout_error",
    "program_error",
    "thread_limit_error",
    "max_workflow_runs_error",
    "unknown_error",
  ]),
  message: z.string(),
});

export const WorkflowRunResult = z.discriminatedUnion("type", [
  z.object({ type: z.literal("completed") }),
  z.object({ type: z.literal("stopped") }),
  z.object({ type: z.literal("error"), error: WorkflowRunError }),
]);

const ofRun = { ...serverEvent, workflow_run_id: z.string() };
const description = z.string().nullable();

export const WorkflowRunCreatedEvent = z.object({
  type: z.literal("workflow_run.created"),
  ...ofRun,
  name: z.string(),
  description,
  phases: z.array(z.object({ id: z.string(), name: z.string(), description })),
});
export const WorkflowRunStatusRunningEvent = z.object({
  type: z.literal("workflow_run.status_running"),
  ...ofRun,
});
export const WorkflowRunStatusIdleEvent = z.object({
  type: z.literal("workflow_run.status_idle"),
  ...ofRun,
});
export const WorkflowRunPhaseStartedEvent = z.object({
  type: z.literal("workflow_run.phase_started"),
  ...ofRun,
  workflow_run_phase_id: z.string(),
});
export const WorkflowRunPhaseEndedEvent = z.object({
  type: z.literal("workflow_run.phase_ended"),
  ...ofRun,
  phase_started_id: z.string(),
  workflow_run_phase_id: z.string(),
});
export const WorkflowRunStatusEndedEvent = z.object({
  type: z.literal("workflow_run.status_ended"),
  ...ofRun,
  result: WorkflowRunResult,
});

/** Without an id where the run was not even created. */
export const WorkflowRunErrorEvent = z.object({
  type: z.literal("workflow_run.error"),
  ...serverEvent,
  workflow_run_id: z.string().nullable(),
  error: WorkflowRunError,
});
