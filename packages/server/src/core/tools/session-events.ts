import { z } from "zod";
import type { ModelTool } from "../ports/model.ts";
import type { EventType } from "../session/log-event.ts";
import type { OfferedTool } from "./offered-tools.ts";

/** Whether a model is offered to look back: once something was left out, whatever happens, or never. */
export type LookBack = "after_compaction" | "always" | "never";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const QUERY_CHARS_MAX = 1_000;
const TYPES_MAX = 50;

/** What a conversation is made of; the rest is only given to those who ask for it by its type. */
export const CONVERSATION_TYPES = [
  "user.message",
  "system.message",
  "user.interrupt",
  "user.tool_confirmation",
  "user.custom_tool_result",
  "user.tool_result",
  "agent.message",
  "agent.tool_use",
  "agent.tool_result",
  "agent.mcp_tool_use",
  "agent.mcp_tool_result",
  "agent.custom_tool_use",
  "agent.thread_context_compacted",
  "session.error",
] as const satisfies readonly EventType[];

const DEFINITION: ModelTool = {
  name: "session_events",
  description: `Look back at this session: everything that was said and done in it, also what is no longer shown to you because it was summarised. Each event comes as one line of JSON with its position, "seq". Without "types" you get messages, tool calls, results, errors and compactions. Without "after" you get the newest events, before "before" if that is given; with "after" the first ones after it. Long texts are shortened; with "query" they are shown around what was found.`,
  input_schema: {
    type: "object",
    properties: {
      after: { type: "integer", description: "Only events with a greater seq." },
      before: { type: "integer", description: "Only events with a smaller seq." },
      types: {
        type: "array",
        items: { type: "string" },
        description: "Only events of these types, such as user.message or agent.tool_result.",
      },
      query: {
        type: "string",
        description: "Only events with this text in them, in capital or small letters.",
      },
      limit: {
        type: "integer",
        description: `At most so many events. Default ${LIMIT_DEFAULT}, at most ${LIMIT_MAX}.`,
      },
    },
  },
};

/** The tool by which a model looks back; its calls are run by the loop itself, and change nothing. */
export const SESSION_EVENTS: OfferedTool = { runBy: "loop", definition: DEFINITION };

/** The same tools with the one for looking back, if it is to be offered and its name is free. */
export function withLookBack(
  tools: readonly OfferedTool[],
  lookBack: LookBack,
  isCompacted: boolean,
): readonly OfferedTool[] {
  const isOffered = lookBack === "always" || (lookBack === "after_compaction" && isCompacted);
  const isTaken = tools.some(({ definition }) => definition.name === DEFINITION.name);
  return isOffered && !isTaken ? [...tools, SESSION_EVENTS] : tools;
}

const Seq = z.int("must be a whole number").min(0, "must not be negative");

const Input = z.object({
  after: Seq.nullish(),
  before: Seq.nullish(),
  types: z.array(z.string(), "must be a list of event types").max(TYPES_MAX).nullish(),
  query: z.string("must be a text").max(QUERY_CHARS_MAX).nullish(),
  limit: z
    .int(`must be a whole number from 1 to ${LIMIT_MAX}`)
    .min(1, `must be a whole number from 1 to ${LIMIT_MAX}`)
    .max(LIMIT_MAX, `must be a whole number from 1 to ${LIMIT_MAX}`)
    .nullish(),
});

/** What a model wants to see again. */
export interface LookBackRequest {
  readonly after: number | undefined;
  readonly before: number | undefined;
  readonly types: readonly string[];
  /** In small letters. */
  readonly query: string | undefined;
  readonly limit: number;
}

/** The input of a call, or a sentence that tells the model what is wrong with it. */
export function lookBackRequest(
  input: unknown,
): { readonly request: LookBackRequest } | { readonly problem: string } {
  const parsed = Input.safeParse(input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.join(".") || "input"}: ${issue?.message ?? "is not usable"}` };
  }
  const { after, before, types, query, limit } = parsed.data;
  return {
    request: {
      after: after ?? undefined,
      before: before ?? undefined,
      types: types?.length ? types : CONVERSATION_TYPES,
      query: query?.toLowerCase() || undefined,
      limit: limit ?? LIMIT_DEFAULT,
    },
  };
}
