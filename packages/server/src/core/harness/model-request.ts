import type { ModelRequest, ModelTool } from "../ports/model.ts";
import type { SessionRecord } from "../ports/sessions.ts";
import type { LogEvent } from "../session/log-event.ts";
import { contextMessages } from "./context.ts";
import type { Policies } from "./policies.ts";
import { systemBlocks } from "./system-prompt.ts";

/** The request for the next response of a session, from its log and what it was made with. */
export function modelRequest(
  session: SessionRecord,
  events: readonly LogEvent[],
  tools: readonly ModelTool[],
  policies: Policies,
): ModelRequest {
  const { model } = session.agent;
  const takesEffort = !policies.modelsWithoutEffort.test(model.id);
  return {
    model: model.id,
    system: systemBlocks(session, tools.length > 0),
    messages: contextMessages(events),
    tools,
    max_tokens: policies.maxTokens,
    ...(model.effort !== undefined && takesEffort && { effort: model.effort.type }),
    ...(model.speed !== undefined && { speed: model.speed }),
  };
}
