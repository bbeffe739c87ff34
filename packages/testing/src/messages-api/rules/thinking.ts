import type { Json } from "../types.ts";
import { DOCS, type Rule, type RuleInput, SDK } from "./rule.ts";
import { field, firstOf, messagesOf } from "./shape.ts";
import { forced } from "./tools.ts";

const THINKING_DOCS = `${DOCS}/build-with-claude/thinking`;
const EXTENDED_DOCS = `${DOCS}/build-with-claude/extended-thinking`;
const TYPES = ["adaptive", "enabled", "disabled", "between_tools"];
const MIN_BUDGET = 1_024;
const THINKING = ["thinking", "redacted_thinking"];

/** The thinking setting, and thinking that comes back. */
export const THINKING_RULES: readonly Rule[] = [
  {
    id: "thinking-type",
    source: `${SDK} ThinkingConfigParam`,
    description: "thinking has a type the API knows.",
    check: ({ body }) => {
      const thinking = field(body, "thinking");
      const type = String(field(thinking, "type"));
      return thinking == null || TYPES.includes(type)
        ? undefined
        : `thinking: Input tag '${type}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`;
    },
  },
  {
    id: "thinking-model",
    source: `${EXTENDED_DOCS}#supported-models`,
    description: "The model has that kind of thinking.",
    check: ({ body, model }) => {
      const type = typeOf(body);
      const wanted = type === "enabled" || type === "adaptive" ? type : undefined;
      return model === undefined || wanted === undefined || model.thinking.includes(wanted)
        ? undefined
        : `"thinking.type.${wanted}" is not supported for this model.`;
    },
  },
  {
    id: "thinking-budget-minimum",
    source: `${SDK} ThinkingConfigEnabled.budget_tokens`,
    description: "A thinking budget is at least 1,024 tokens.",
    check: ({ body }) => {
      if (typeOf(body) !== "enabled") return undefined;
      const budget = field(field(body, "thinking"), "budget_tokens");
      if (budget === undefined) return "thinking.enabled.budget_tokens: Field required";
      return typeof budget === "number" && budget >= MIN_BUDGET
        ? undefined
        : `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_BUDGET}`;
    },
  },
  {
    id: "thinking-budget-maximum",
    source: `${SDK} ThinkingConfigEnabled.budget_tokens`,
    description: "A thinking budget is less than max_tokens.",
    check: ({ body }) =>
      typeOf(body) === "enabled" &&
      Number(field(field(body, "thinking"), "budget_tokens")) >= Number(field(body, "max_tokens"))
        ? "`max_tokens` must be greater than `thinking.budget_tokens`."
        : undefined,
  },
  {
    id: "thinking-sampling",
    source: `${EXTENDED_DOCS}#feature-compatibility`,
    description: "Thinking goes with temperature 1 only, and without top_k.",
    check: ({ body }) => {
      if (!thinks(body)) return undefined;
      const temperature = field(body, "temperature");
      if (temperature != null && temperature !== 1) {
        return "`temperature` may only be set to 1 when thinking is enabled.";
      }
      return field(body, "top_k") == null
        ? undefined
        : "`top_k` must be unset when thinking is enabled.";
    },
  },
  {
    id: "thinking-forced-tool",
    source: `${THINKING_DOCS}#thinking-with-tool-use`,
    description: "With thinking on, no tool can be forced.",
    check: ({ body }) =>
      thinks(body) && forced(body)
        ? "Thinking may not be enabled when tool_choice forces tool use."
        : undefined,
  },
  {
    id: "thinking-signature",
    source: `${SDK} ThinkingBlockParam.signature; https://github.com/kaitranntt/ccs/issues/415`,
    description: "A thinking block comes back exactly as it was made.",
    check: (input) => firstOf(thinkingBlocks(input), ({ at, block }) => verify(input, at, block)),
  },
  {
    id: "thinking-kept",
    source: `${SDK} ThinkingBlockParam.signature; ${THINKING_DOCS}#preserving-thinking-blocks`,
    description: "While tools are used, the thinking before them stays, whole and in its order.",
    check: checkKept,
  },
  {
    id: "thinking-not-last",
    source: `${THINKING_DOCS}#preserving-thinking-blocks`,
    description: "An assistant message does not end with thinking.",
    check: ({ body }) =>
      firstOf(messagesOf(body), ({ role, at, blocks }) =>
        role === "assistant" && THINKING.includes(String(blocks.at(-1)?.type))
          ? `${at}: The final block in an assistant message cannot be \`thinking\`.`
          : undefined,
      ),
  },
  {
    id: "thinking-first",
    source: "https://github.com/lbjlaq/Antigravity-Manager/issues/139",
    description:
      "With budgeted thinking on, the last assistant message with a tool use starts with thinking.",
    check: ({ body }) => {
      if (typeOf(body) !== "enabled") return undefined;
      const last = messagesOf(body).findLast(({ role }) => role === "assistant");
      const first = last?.blocks[0];
      if (last === undefined || first === undefined || THINKING.includes(first.type)) {
        return undefined;
      }
      return last.blocks.some(({ type }) => type === "tool_use")
        ? `${first.at}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`
        : undefined;
    },
  },
];

/** The ids that the double gives to tool uses name the thinking of their response. */
function checkKept({ body, signer }: RuleInput): string | undefined {
  const last = messagesOf(body).findLast(({ role }) => role === "assistant");
  const thought = (last?.blocks ?? []).flatMap(({ type, block }) =>
    THINKING.includes(type) ? [String(block["thinking"] ?? block["data"])] : [],
  );
  const marks = new Set<string>();
  for (let from = 0; from < thought.length; from += 1) {
    for (let to = from + 1; to <= thought.length; to += 1) {
      marks.add(signer.mark(thought.slice(from, to)));
    }
  }
  return firstOf(last?.blocks ?? [], ({ type, at, block }) => {
    const mark = /^toolu_double_\w+_t([0-9a-f]{16})$/.exec(String(block["id"]))?.[1];
    return type !== "tool_use" || mark === undefined || marks.has(mark)
      ? undefined
      : `${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`;
  });
}

function typeOf(body: Json | undefined): Json | undefined {
  return field(field(body, "thinking"), "type");
}

function thinks(body: Json | undefined): boolean {
  return ["enabled", "adaptive"].includes(String(typeOf(body)));
}

function thinkingBlocks({ body }: RuleInput) {
  return messagesOf(body)
    .flatMap(({ blocks }) => blocks)
    .filter(({ type }) => THINKING.includes(type));
}

function verify(
  { signer }: RuleInput,
  at: string,
  block: { readonly [key: string]: Json },
): string | undefined {
  if (block["type"] === "redacted_thinking") {
    return signer.verifiesRedacted(String(block["data"]))
      ? undefined
      : `${at}: Invalid \`data\` in \`redacted_thinking\` block`;
  }
  return signer.verifies(String(block["thinking"]), String(block["signature"]))
    ? undefined
    : `${at}: Invalid \`signature\` in \`thinking\` block`;
}
