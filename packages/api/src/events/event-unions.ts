import { z } from "zod";
import * as agent from "./agent-events.ts";
import * as session from "./session-events.ts";
import * as span from "./span-events.ts";
import { EventDelta, EventStart } from "./stream-events.ts";
import * as user from "./user-events.ts";
import * as workflow from "./workflow-events.ts";

/** The events as lists, streams and echoes show them (wire §6), told apart by their type. */

/** The seven that clients send. */
export const ClientEvent = z.discriminatedUnion("type", [
  user.UserMessageEvent,
  user.UserInterruptEvent,
  user.UserToolConfirmationEvent,
  user.UserCustomToolResultEvent,
  user.UserToolResultEvent,
  user.UserDefineOutcomeEvent,
  user.SystemMessageEvent,
]);

/** The 42 that are kept. */
export const SessionEvent = z.discriminatedUnion("type", [
  ...ClientEvent.options,
  agent.AgentMessageEvent,
  agent.AgentThinkingEvent,
  agent.AgentToolUseEvent,
  agent.AgentToolResultEvent,
  agent.AgentMcpToolUseEvent,
  agent.AgentMcpToolResultEvent,
  agent.AgentCustomToolUseEvent,
  agent.AgentThreadMessageSentEvent,
  agent.AgentThreadMessageReceivedEvent,
  agent.AgentThreadContextCompactedEvent,
  session.SessionStatusRunningEvent,
  session.SessionStatusIdleEvent,
  session.SessionStatusRescheduledEvent,
  session.SessionStatusTerminatedEvent,
  session.SessionThreadCreatedEvent,
  session.SessionThreadStatusRunningEvent,
  session.SessionThreadStatusIdleEvent,
  session.SessionThreadStatusRescheduledEvent,
  session.SessionThreadStatusTerminatedEvent,
  session.SessionErrorEvent,
  session.SessionUpdatedEvent,
  session.SessionUsageEvent,
  session.SessionDeletedEvent,
  span.SpanModelRequestStartEvent,
  span.SpanModelRequestEndEvent,
  span.SpanOutcomeEvaluationStartEvent,
  span.SpanOutcomeEvaluationOngoingEvent,
  span.SpanOutcomeEvaluationEndEvent,
  workflow.WorkflowRunCreatedEvent,
  workflow.WorkflowRunStatusRunningEvent,
  workflow.WorkflowRunStatusIdleEvent,
  workflow.WorkflowRunStatusEndedEvent,
  workflow.WorkflowRunErrorEvent,
  workflow.WorkflowRunPhaseStartedEvent,
  workflow.WorkflowRunPhaseEndedEvent,
]);

/** What a stream says: the same, and previews. */
export const StreamEvent = z.discriminatedUnion("type", [
  ...SessionEvent.options,
  EventStart,
  EventDelta,
]);

export type SessionEvent = z.infer<typeof SessionEvent>;
export type StreamEvent = z.infer<typeof StreamEvent>;
export type ClientEvent = z.infer<typeof ClientEvent>;
/** The event of one type. */
export type SessionEventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;
