import type { LogEvent, LogEventOf } from "./log-event.ts";

/** A call that hands carry out, or the loop. */
export type ToolUse = LogEventOf<"agent.tool_use" | "agent.mcp_tool_use">;

export const TOOL_USE_TYPES = ["agent.tool_use", "agent.mcp_tool_use"] as const;

export function isToolUse(event: LogEvent): event is ToolUse {
  return event.type === "agent.tool_use" || event.type === "agent.mcp_tool_use";
}

/** The name by which the model called the tool, which is no other tool's. */
export function calledTool(use: ToolUse): string {
  return use.type === "agent.mcp_tool_use" ? use.private.tool : use.public.name;
}
