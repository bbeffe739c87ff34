import { z } from "zod";
import { RedactedBlock, TextBlock } from "../content.ts";
import { ofChild, serverEvent } from "./envelope.ts";
import { ShownMessageBlock, toolResult } from "./user-events.ts";

/** What an agent says and does (wire §6.4). */

export const AgentMessageEvent = z.object({
  type: z.literal("agent.message"),
  ...serverEvent,
  content: z.array(z.discriminatedUnion("type", [TextBlock, RedactedBlock])),
});

/** A sign of progress, without content. */
export const AgentThinkingEvent = z.object({ type: z.literal("agent.thinking"), ...serverEvent });

/** Reason codes are an open set. */
const AutoEvaluation = z.discriminatedUnion("type", [
  z.object({ type: z.literal("allow") }),
  z.object({ type: z.literal("ask"), reason_code: z.string() }),
  z.object({ type: z.literal("deny"), reason_code: z.string() }),
]);

/** The policy that a permission came from. */
export const ToolEvaluation = z.discriminatedUnion("type", [
  z.object({ type: z.literal("always_allow") }),
  z.object({ type: z.literal("always_ask") }),
  z.object({ type: z.literal("auto"), evaluated_permission: AutoEvaluation }),
]);
export type ToolEvaluation = z.infer<typeof ToolEvaluation>;

/** Absent only where no policy was asked: then the permission is `deny`. */
const evaluated = {
  evaluated_permission: z.enum(["allow", "ask", "deny"]).exactOptional(),
  evaluation: ToolEvaluation.exactOptional(),
};
const call = { name: z.string(), input: z.record(z.string(), z.unknown()) };

export const AgentToolUseEvent = z.object({
  type: z.literal("agent.tool_use"),
  ...serverEvent,
  ...call,
  ...evaluated,
  ...ofChild,
});

export const AgentToolResultEvent = z.object({
  type: z.literal("agent.tool_result"),
  ...serverEvent,
  tool_use_id: z.string(),
  ...toolResult,
});

export const AgentMcpToolUseEvent = z.object({
  type: z.literal("agent.mcp_tool_use"),
  ...serverEvent,
  mcp_server_name: z.string(),
  ...call,
  ...evaluated,
  ...ofChild,
});

export const AgentMcpToolResultEvent = z.object({
  type: z.literal("agent.mcp_tool_result"),
  ...serverEvent,
  mcp_tool_use_id: z.string(),
  ...toolResult,
});

export const AgentCustomToolUseEvent = z.object({
  type: z.literal("agent.custom_tool_use"),
  ...serverEvent,
  ...call,
  ...ofChild,
});

/** On the sender's stream; without a name where the primary agent is the receiver. */
export const AgentThreadMessageSentEvent = z.object({
  type: z.literal("agent.thread_message_sent"),
  ...serverEvent,
  to_session_thread_id: z.string(),
  to_agent_name: z.string().nullable().exactOptional(),
  content: z.array(ShownMessageBlock),
});

/** On the receiver's stream; without a name where the primary agent is the sender. */
export const AgentThreadMessageReceivedEvent = z.object({
  type: z.literal("agent.thread_message_received"),
  ...serverEvent,
  from_session_thread_id: z.string(),
  from_agent_name: z.string().nullable().exactOptional(),
  content: z.array(ShownMessageBlock),
});

export const AgentThreadContextCompactedEvent = z.object({
  type: z.literal("agent.thread_context_compacted"),
  ...serverEvent,
});
