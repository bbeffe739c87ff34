import type { HandCall } from "../core/ports/hands.ts";
import { calledTool, type ToolUse } from "../core/session/called-tool.ts";
import { isSandboxTool } from "../core/sessions/workspace-at.ts";
import { mcpSettings } from "../core/tools/mcp-tools.ts";
import type { ToolSettings } from "../core/tools/tool-settings.ts";
import { filesOf } from "./hand-files.ts";
import type { SessionView } from "./session-view.ts";
import type { EffectContext } from "./settlement.ts";
import { threadTools } from "./thread-tools.ts";
import { wantedRepositories } from "./wanted-repositories.ts";

/** A call of the log, as the hands are to be told of it. */
export async function loggedCall(
  call: Pick<HandCall, "callId" | "handId" | "handsBoot">,
  context: EffectContext,
): Promise<HandCall> {
  const use = toolUseOf(call.callId, context.view);
  const { input } = use.public;
  const made = await handCallOf({ ...call, name: calledTool(use), input }, context);
  const settings = settingsOf(use, context);
  return settings === undefined ? made : { ...made, settings };
}

/** As the agent has them now; undefined for a tool that has none. */
export function settingsOf(use: ToolUse, { view, deps }: EffectContext): ToolSettings | undefined {
  if (use.type === "agent.mcp_tool_use") {
    const { mcp_server_name: server, name: tool } = use.public;
    return mcpSettings(view.session.agent, { server, tool });
  }
  const { name } = use.public;
  const tool = threadTools(view, deps).find(({ definition }) => definition.name === name);
  return tool?.runBy === "hands" ? tool.web?.settings : undefined;
}

/** With the recipe as it is now: files that were added or taken out before are so for this call. */
export async function handCallOf(
  {
    callId,
    handId,
    handsBoot,
    name,
    input,
  }: Pick<HandCall, "callId" | "handId" | "handsBoot" | "name" | "input">,
  { view, deps, epoch }: EffectContext,
): Promise<HandCall> {
  const session = (await deps.store.sessions.find(view.key)) ?? view.session;
  const isInSandbox = isSandboxTool(name);
  const repositories = isInSandbox ? await wantedRepositories(session, deps.store.sessions) : [];
  const files = isInSandbox ? await filesOf(deps.store, view.key, handId) : undefined;
  const grant = deps.grantOf(session);
  return {
    ...view.key,
    callId,
    handId,
    handsBoot,
    name,
    input,
    epoch,
    recipe: session.recipe,
    ...(repositories.length > 0 && { repositories }),
    ...(files !== undefined && { files }),
    ...(grant !== undefined && { grant }),
  };
}

export function toolUseOf(callId: string, view: SessionView): ToolUse {
  const toolUse = view.findCall(callId);
  if (toolUse === undefined) throw new Error(`call ${callId} has no tool use in its context`);
  return toolUse;
}
