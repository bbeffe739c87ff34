import type { ModelMessage, ModelRequest, ModelTool } from "../ports/model.ts";
import type { SessionRecord } from "../ports/sessions.ts";
import type { LogEvent } from "../session/log-event.ts";
import { SESSION_EVENTS } from "../tools/session-events.ts";
import { withCacheMarks } from "./cache-marks.ts";
import { contextMessages } from "./context.ts";
import type { Policies } from "./policies.ts";
import { systemBlocks } from "./system-prompt.ts";
import { worksAround } from "./workarounds.ts";

/**
 * Stands where an agent has no tools but its conversation has calls, of tools that were taken from it
 * or that it made up: the API takes no such conversation without a definition.
 */
const NO_TOOL: ModelTool = {
  name: "no_tool",
  description: "There are no tools any more. Do not call any: calls are refused.",
  input_schema: { type: "object", properties: {} },
};

/** The request for the next response of a session, from its log and what it was made with. */
export function modelRequest(
  session: SessionRecord,
  events: readonly LogEvent[],
  tools: readonly ModelTool[],
  policies: Policies,
): ModelRequest {
  return marked(unmarkedRequest(session, events, tools, policies), policies);
}

/** The same with marks for the prompt cache, if there are to be any. */
export function marked(request: ModelRequest, policies: Policies): ModelRequest {
  return worksAround(policies, "prompt_cache", request.model) ? withCacheMarks(request) : request;
}

export function unmarkedRequest(
  session: SessionRecord,
  events: readonly LogEvent[],
  tools: readonly ModelTool[],
  policies: Policies,
): ModelRequest {
  const { model } = session.agent;
  const messages = contextMessages(events);
  // To look back a model needs no sandbox, and is told of none.
  const hasTools = tools.some(({ name }) => name !== SESSION_EVENTS.definition.name);
  const takesEffort = !worksAround(policies, "effort_left_out", model.id);
  return {
    model: model.id,
    system: systemBlocks(session, hasTools),
    messages,
    tools: tools.length === 0 && messages.some(hasCall) ? [NO_TOOL] : tools,
    max_tokens: policies.maxTokens,
    ...(model.effort !== undefined && takesEffort && { effort: model.effort.type }),
    ...(model.speed !== undefined && { speed: model.speed }),
  };
}

function hasCall({ content }: ModelMessage): boolean {
  return content.some((block) => block.type === "tool_use");
}
