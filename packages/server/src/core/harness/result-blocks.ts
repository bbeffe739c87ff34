import type { ResultBlock } from "@drover/api";
import type { ModelBlock } from "../ports/model.ts";
import { boundedResult } from "../session/bounded-result.ts";
import type { LogEvent } from "../session/log-event.ts";
import { tamed } from "./tame.ts";
import { isBlank } from "./verdict.ts";

/** What came of a call, whoever ran it. */
export interface CallAnswer {
  readonly content: readonly ResultBlock[];
  readonly isError: boolean;
}

/** The answers of a log by the ids of their calls; of two to one call the first. */
export function callAnswers(events: readonly LogEvent[]): ReadonlyMap<string, CallAnswer> {
  const answers = new Map<string, CallAnswer>();
  for (const event of events) {
    const answered = answerIn(event);
    if (answered === undefined || answers.has(answered.callId)) continue;
    const { content = [], is_error } = answered.result;
    answers.set(answered.callId, { content, isError: is_error === true });
  }
  return answers;
}

function answerIn(event: LogEvent) {
  switch (event.type) {
    case "agent.tool_result":
      return { callId: event.public.tool_use_id, result: event.public };
    case "agent.mcp_tool_result":
      return { callId: event.public.mcp_tool_use_id, result: event.public };
    case "user.custom_tool_result":
      return {
        callId: event.public.custom_tool_use_id,
        result: { ...event.public, content: boundedResult(event.public.content ?? []) },
      };
    default:
      return undefined;
  }
}

/** The block that answers a tool use, in the form that the API takes. */
export function resultBlock(toolUseId: string, answer: CallAnswer | undefined): ModelBlock {
  const block = { type: "tool_result", tool_use_id: toolUseId };
  if (answer === undefined) {
    // Only in a log that was cut off before the answer; the API takes no call without one.
    return { ...block, ...said("No result of this call was recorded."), is_error: true };
  }
  const content = answer.content.map((part): ModelBlock => tamed(part)).filter(hasContent);
  if (!answer.isError) return { ...block, ...(content.length > 0 && { content }) };
  // The API takes no error without a word, and nothing but words in one.
  if (content.length === 0) return { ...block, ...said("(no output)"), is_error: true };
  if (content.every(({ type }) => type === "text")) return { ...block, content, is_error: true };
  return { ...block, content: [...said("The tool reported an error.").content, ...content] };
}

function hasContent(block: ModelBlock): boolean {
  return block.type !== "text" || !isBlank(block);
}

function said(text: string): { content: readonly ModelBlock[] } {
  return { content: [{ type: "text", text }] };
}
