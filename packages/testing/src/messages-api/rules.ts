import { BLOCK_RULES } from "./rules/blocks.ts";
import { CACHING_RULES } from "./rules/caching.ts";
import { HTTP_RULES } from "./rules/http.ts";
import { MEDIA_RULES } from "./rules/media.ts";
import { MESSAGE_RULES } from "./rules/messages.ts";
import { COUNT_FIELD_RULES, REQUEST_RULES, WINDOW_RULES } from "./rules/request.ts";
import type { Rule, RuleInput } from "./rules/rule.ts";
import { THINKING_RULES } from "./rules/thinking.ts";
import { TOOL_PAIR_RULES } from "./rules/tool-pairs.ts";
import { TOOL_RULES } from "./rules/tools.ts";

/** Everything the double refuses, in the order in which it is looked at. */
export const RULES: readonly Rule[] = [
  ...HTTP_RULES,
  ...REQUEST_RULES,
  ...CACHING_RULES,
  ...MESSAGE_RULES,
  ...BLOCK_RULES,
  ...TOOL_RULES,
  ...TOOL_PAIR_RULES,
  ...MEDIA_RULES,
  ...THINKING_RULES,
  ...WINDOW_RULES,
];

export interface Verdict {
  readonly rule: Rule;
  readonly message: string;
}

/** Counting takes no `max_tokens`, and is how one finds out whether a prompt fits. */
const NOT_FOR_COUNTS: ReadonlySet<Rule> = new Set([
  ...WINDOW_RULES,
  ...REQUEST_RULES.filter(({ id }) => id.startsWith("max-tokens")),
]);

/** What a request that only counts is refused for. */
export const COUNT_RULES: readonly Rule[] = [
  ...HTTP_RULES,
  ...COUNT_FIELD_RULES,
  ...RULES.filter((rule) => !HTTP_RULES.includes(rule) && !NOT_FOR_COUNTS.has(rule)),
];

/** The first rule the request breaks; undefined if it is accepted. */
export function judge(input: RuleInput): Verdict | undefined {
  return firstBroken(RULES, input);
}

/** The same for a request that only counts. */
export function judgeCount(input: RuleInput): Verdict | undefined {
  return firstBroken(COUNT_RULES, input);
}

function firstBroken(rules: readonly Rule[], input: RuleInput): Verdict | undefined {
  for (const rule of rules) {
    const message = rule.check(input);
    if (message !== undefined) return { rule, message };
  }
  return undefined;
}
