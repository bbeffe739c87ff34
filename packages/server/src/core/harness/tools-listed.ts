import type { McpListing, McpServerListed } from "../ports/mcp-servers.ts";
import type { EventDraft } from "../session/log-event.ts";
import { type Drafting, draft, sessionError } from "./drafting.ts";
import { recordedEgress } from "./results.ts";

/** What the session's servers have, and an error for each that could not be asked: the turn goes on without. */
export function listedDrafts(
  drafting: Drafting,
  { servers, egress }: McpListing,
): readonly EventDraft[] {
  return [
    draft(drafting, "drover.mcp_tools_listed", { public: {}, private: { servers } }),
    ...recordedEgress(drafting, null, egress),
    ...servers.flatMap((server) => serverErrors(drafting, server)),
  ];
}

function serverErrors(drafting: Drafting, { name, error }: McpServerListed): EventDraft[] {
  if (error === undefined) return [];
  return [
    sessionError(drafting, {
      type:
        error.type === "authentication"
          ? "mcp_authentication_failed_error"
          : "mcp_connection_failed_error",
      mcp_server_name: name,
      message: error.message,
      retry_status: { type: "retrying" },
    }),
  ];
}
