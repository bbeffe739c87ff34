import type { InboxEvent } from "../session/log-event.ts";
import { type SessionState, threadState } from "../session/state.ts";
import type { Action } from "./actions.ts";
import { isAsk } from "./budget-gate.ts";

/**
 * The same actions, but no model request before it is known what tools the agent's MCP servers have, as far as
 * they can be asked. Input is taken up first, so that the session is seen to run while they are.
 */
export function withToolsListed(
  actions: readonly Action[],
  state: SessionState,
  { threadId, inbox, hasMcpServers }: ToolsGate,
): readonly Action[] {
  if (!hasMcpServers || !actions.some(isAsk)) return actions;
  const { mcp, status } = threadState(state, threadId);
  if (mcp !== null && !mcp.isStale) return actions;
  const isRunning = status === "running" && state.status === "running";
  if (!isRunning || inbox.length > 0) {
    return [{ kind: "append", id: "append:take_up", step: { type: "take_up" } }];
  }
  return [{ kind: "list_tools", id: `list:${mcp?.seq ?? 0}` }];
}

export interface ToolsGate {
  readonly threadId: string;
  readonly inbox: readonly InboxEvent[];
  /** True if the agent has MCP servers whose tools it may use. */
  readonly hasMcpServers: boolean;
}
