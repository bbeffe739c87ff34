import { field, firstDouble, firstOf, listOf } from "../../messages-api/rules/shape.ts";
import type { Json } from "../types.ts";
import { type ChatMessageView, chatMessagesOf } from "./messages.ts";
import { type ChatRule, type ChatRuleInput, SDK } from "./rule.ts";

/** An assistant message and the tool messages directly after it. */
interface Exchange {
  readonly at: string;
  readonly callIds: readonly string[];
  readonly answeredIds: readonly string[];
}

/** Calls and their results. */
export const TOOL_PAIR_RULES: readonly ChatRule[] = [
  {
    id: "tool-orphan",
    source: "https://github.com/miurla/morphic/issues/136",
    description: "A tool message follows the assistant message that made its call.",
    check: ofExchanges(({ at, callIds, answeredIds }) =>
      answeredIds.every((id) => callIds.includes(id))
        ? undefined
        : `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (${at})`,
    ),
  },
  {
    id: "tool-unanswered",
    source: "https://github.com/CopilotKit/CopilotKit/pull/7277",
    description: "Every call is answered by a tool message before anything else is said.",
    check: ofExchanges(({ callIds, answeredIds }) => {
      const open = callIds.filter((id) => !answeredIds.includes(id));
      return open.length === 0
        ? undefined
        : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`;
    }),
  },
  {
    id: "tool-answered-twice",
    source: "stricter than documented: an answer given twice is a harness's fault",
    description: "A call is answered once.",
    check: ofExchanges(({ answeredIds }) => {
      const twice = firstDouble(answeredIds);
      return twice === undefined ? undefined : `Duplicate value for 'tool_call_id' of '${twice}'.`;
    }),
  },
  {
    id: "tool-order",
    source: "stricter than documented: templates number results instead of naming them",
    description: "Results stand in the order of their calls.",
    check: ofExchanges(({ at, callIds, answeredIds }) => {
      const places = answeredIds.map((id) => callIds.indexOf(id));
      return places.every((place, index) => index === 0 || place >= (places[index - 1] ?? 0))
        ? undefined
        : `The results of '${at}' are not in the order of its calls.`;
    }),
  },
  {
    id: "call-id-unique",
    source: `${SDK} ChatCompletionMessageFunctionToolCall.id`,
    description: "No two calls of a message have one id.",
    check: ofExchanges(({ callIds }) => {
      const twice = firstDouble(callIds);
      return twice === undefined ? undefined : `Duplicate tool call id '${twice}'.`;
    }),
  },
];

function ofExchanges(
  check: (exchange: Exchange) => string | undefined,
): (input: ChatRuleInput) => string | undefined {
  return ({ body }) => firstOf(exchangesOf(body), check);
}

/** A tool message that no assistant message is before belongs to an exchange without calls. */
function exchangesOf(body: Json | undefined): readonly Exchange[] {
  const exchanges: { at: string; callIds: string[]; answeredIds: string[] }[] = [];
  let isOpen = false;
  for (const view of chatMessagesOf(body)) {
    if (view.role === "tool") {
      if (!isOpen) exchanges.push({ at: view.at, callIds: [], answeredIds: [] });
      exchanges.at(-1)?.answeredIds.push(String(view.message["tool_call_id"]));
      isOpen = true;
      continue;
    }
    isOpen = view.role === "assistant";
    if (isOpen) exchanges.push({ at: view.at, callIds: callIdsOf(view), answeredIds: [] });
  }
  return exchanges;
}

function callIdsOf({ message }: ChatMessageView): string[] {
  return listOf(message["tool_calls"]).map((call) => String(field(call, "id")));
}
