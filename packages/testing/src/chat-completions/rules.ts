import { MESSAGE_RULES, TOOL_RULES } from "./rules/messages.ts";
import { REQUEST_RULES, WINDOW_RULES } from "./rules/request.ts";
import type { ChatRule, ChatRuleInput } from "./rules/rule.ts";
import { TOOL_PAIR_RULES } from "./rules/tool-pairs.ts";
import type { ChatError } from "./types.ts";

/** Everything the double refuses, in the order in which it is looked at. */
export const CHAT_RULES: readonly ChatRule[] = [
  ...REQUEST_RULES,
  ...MESSAGE_RULES,
  ...TOOL_RULES,
  ...TOOL_PAIR_RULES,
  ...WINDOW_RULES,
];

export interface ChatVerdict {
  readonly rule: ChatRule;
  readonly error: ChatError;
}

/** The first rule the request breaks; undefined if it is accepted. */
export function judgeChat(input: ChatRuleInput): ChatVerdict | undefined {
  for (const rule of CHAT_RULES) {
    const message = rule.check(input);
    if (message === undefined) continue;
    const type = "invalid_request_error";
    return { rule, error: { message, type, param: null, code: rule.code ?? null } };
  }
  return undefined;
}
