import type { HandCall } from "../core/ports/hands.ts";
import type { LogEventOf } from "../core/session/log-event.ts";
import { isSandboxTool } from "../core/sessions/workspace-at.ts";
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
  const { view, deps } = context;
  const { name, input } = toolUseOf(call.callId, view).public;
  const tool = threadTools(view, deps).find(({ definition }) => definition.name === name);
  const web = tool?.runBy === "hands" ? tool.web : undefined;
  const made = await handCallOf({ ...call, name, input }, context);
  return web === undefined ? made : { ...made, settings: web.settings };
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

export function toolUseOf(callId: string, view: SessionView): LogEventOf<"agent.tool_use"> {
  const toolUse = view.findCall(callId);
  if (toolUse === undefined) throw new Error(`call ${callId} has no tool use in its context`);
  return toolUse;
}
