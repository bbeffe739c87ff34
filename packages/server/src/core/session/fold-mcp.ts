import type { McpListing } from "../ports/mcp-servers.ts";
import type { EventDraft } from "./log-event.ts";
import type { ListedTools } from "./state.ts";
import { jsonTokens } from "./token-estimate.ts";

/** Folds what is known of a thread's MCP servers, and when they are to be asked again. */
export function foldMcp(
  listed: ListedTools | null,
  draft: EventDraft,
  seq: number,
): ListedTools | null {
  if (draft.type === "drover.mcp_tools_listed") return listedTools(draft.private, seq);
  if (listed === null || listed.isStale || !outdates(listed, draft)) return listed;
  return { ...listed, isStale: true };
}

function listedTools({ servers }: McpListing, seq: number): ListedTools {
  return {
    seq,
    tokens: jsonTokens(servers.flatMap(({ tools }) => tools)),
    hasFailed: servers.some(({ error }) => error !== undefined),
    isStale: false,
  };
}

function outdates({ hasFailed }: ListedTools, draft: EventDraft): boolean {
  switch (draft.type) {
    case "agent.mcp_tool_result":
      return draft.private.tools_changed === true;
    case "session.updated":
      return draft.public.agent !== undefined;
    case "drover.forked":
      // Perhaps with another agent, and not from where the other session spoke to its servers.
      return true;
    case "session.thread_status_idle":
      return hasFailed && isEnd(draft.public.stop_reason.type);
    default:
      return false;
  }
}

function isEnd(reason: string): boolean {
  return reason !== "requires_action" && reason !== "budget_reached";
}
