import { listedDrafts } from "../core/harness/tools-listed.ts";
import { mcpServersOf } from "../core/tools/mcp-tools.ts";
import type { EffectContext, Settlement } from "./settlement.ts";

/** Asks the agent's MCP servers what tools they have, so that every process offers the model the same. */
export async function listTools(
  { view, deps }: EffectContext,
  signal: AbortSignal,
): Promise<Settlement> {
  const { session } = view;
  const grant = deps.grantOf(session);
  deps.failPoint("serve.list.before");
  const listing = await deps.mcpServers.listTools(
    {
      ...view.key,
      handId: session.hand_id,
      network: session.recipe.network,
      servers: mcpServersOf(session.agent),
      ...(grant !== undefined && { grant }),
    },
    signal,
  );
  deps.failPoint("serve.list.after");
  for (const { name, left_out } of listing.servers) {
    if (left_out === undefined) continue;
    const fields = { session_id: session.id, mcp_server_name: name, left_out };
    deps.log.info(fields, "tools of an MCP server cannot be offered");
  }
  return { drafts: (_state, drafting) => listedDrafts(drafting, listing) };
}
