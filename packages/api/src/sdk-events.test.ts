import type * as sdk from "@anthropic-ai/sdk/resources/beta/sessions/events";
import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type * as api from "./index.ts";

/** Checked by the compiler: the official client's types are the contract. */

type Body<T> = Omit<T, "betas" | "workspace_id">;
/** Clients may send `redacted` by type, but the contract refuses it. */
type SentMessage = Omit<sdk.BetaManagedAgentsUserMessageEventParams, "content"> & {
  content: Exclude<
    sdk.BetaManagedAgentsUserMessageEventParams["content"][number],
    sdk.BetaManagedAgentsRedactedBlock
  >[];
};
type SentEvent =
  | Exclude<sdk.BetaManagedAgentsEventParams, sdk.BetaManagedAgentsUserMessageEventParams>
  | SentMessage;

/** An event as it is shown, from what its type has of its own. */
type Shown<Type extends string, Own = unknown> = Own & {
  id: string;
  type: Type;
  processed_at: string;
};
/** The categories of refusals are open: a model's new one is passed on. */
type Idle = Omit<api.SessionStatusIdle, "stop_details"> & {
  stop_details: sdk.BetaManagedAgentsSessionStatusIdleEvent["stop_details"];
};

test("the events that the official client can send are what the schemas read", () => {
  expectTypeOf<SentEvent>().toExtend<z.input<typeof api.ClientEventParams>>();
  expectTypeOf<Omit<Body<sdk.EventSendParams>, "events"> & { events: SentEvent[] }>().toExtend<
    z.input<typeof api.EventSendParams>
  >();
});

test("the events of an agent are what the official client reads", () => {
  expectTypeOf<
    Shown<"agent.message", api.AgentMessage>
  >().toExtend<sdk.BetaManagedAgentsAgentMessageEvent>();
  expectTypeOf<Shown<"agent.thinking">>().toExtend<sdk.BetaManagedAgentsAgentThinkingEvent>();
  expectTypeOf<
    Shown<"agent.tool_use", api.AgentToolUse>
  >().toExtend<sdk.BetaManagedAgentsAgentToolUseEvent>();
  expectTypeOf<
    Shown<"agent.tool_result", api.AgentToolResult>
  >().toExtend<sdk.BetaManagedAgentsAgentToolResultEvent>();
});

test("the events of a session are what the official client reads", () => {
  expectTypeOf<
    Shown<"session.status_running">
  >().toExtend<sdk.BetaManagedAgentsSessionStatusRunningEvent>();
  expectTypeOf<
    Shown<"session.status_idle", Idle>
  >().toExtend<sdk.BetaManagedAgentsSessionStatusIdleEvent>();
  expectTypeOf<
    Shown<"session.thread_status_running", api.ThreadStatus>
  >().toExtend<sdk.BetaManagedAgentsSessionThreadStatusRunningEvent>();
  expectTypeOf<
    Shown<"session.thread_status_idle", api.ThreadStatus & Idle>
  >().toExtend<sdk.BetaManagedAgentsSessionThreadStatusIdleEvent>();
  expectTypeOf<
    Shown<"session.error", { error: api.SessionErrorObject }>
  >().toExtend<sdk.BetaManagedAgentsSessionErrorEvent>();
  expectTypeOf<api.SessionUsage>().toExtend<sdk.BetaManagedAgentsSessionUsageSnapshot>();
  expectTypeOf<
    Shown<"span.model_request_end", api.SpanModelRequestEnd>
  >().toExtend<sdk.BetaManagedAgentsSpanModelRequestEndEvent>();
});
