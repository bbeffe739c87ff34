import { isBlankText } from "../blank-text.ts";
import type { ModelBlock, ModelOutcome } from "../ports/model.ts";
import type { GoOn } from "../session/log-event.ts";
import type { GoOns } from "../session/state.ts";
import type { Policies } from "./policies.ts";
import { type WorkaroundName, worksAround } from "./workarounds.ts";

type Response = Extract<ModelOutcome, { type: "response" }>;

/** What a response means for its turn. */
export type Verdict =
  /** Its calls are to be run. */
  | { readonly type: "calls" }
  /** The turn ends with it. */
  | { readonly type: "done" }
  | { readonly type: "refusal" }
  /** It brings the turn no further, and the model is asked to go on. */
  | { readonly type: "go_on"; readonly because: GoOn }
  /** The same, too often in a row: the turn ends with a visible error. */
  | { readonly type: "stalled"; readonly because: GoOn };

/** How often in a row a turn may go on for each reason. */
const GO_ONS_MAX = {
  paused: "pausesMax",
  cut_call: "cutsMax",
  empty: "emptiesMax",
  unreadable_calls: "unreadablesMax",
} as const satisfies Record<GoOn, keyof Policies>;

/** Whether there is a way on at all is a policy of its own, but for what the API asks for itself. */
const WORKAROUND_OF: Partial<Record<GoOn, WorkaroundName>> = {
  cut_call: "cut_call_repeated",
  empty: "empty_answer_repeated",
};

/**
 * What the response means, by its blocks: a stop reason may be missing, unknown or at odds with them.
 * Only `refusal` and `pause_turn` say what no block can. `goOns` counts the responses in a row so far
 * that brought this turn no further.
 */
export function verdictOf(
  response: Response,
  goOns: GoOns,
  policies: Policies,
  modelId: string,
): Verdict {
  if (response.stop_reason === "refusal") return { type: "refusal" };
  const because = reasonToGoOn(response);
  if (because === undefined) return { type: hasCall(response) ? "calls" : "done" };
  const workaround = WORKAROUND_OF[because];
  if (workaround !== undefined && !worksAround(policies, workaround, modelId)) {
    return { type: "done" };
  }
  return {
    type: (goOns[because] ?? 0) < policies[GO_ONS_MAX[because]] ? "go_on" : "stalled",
    because,
  };
}

/** The outcome as the loop takes it: without the workaround, an input that cannot be read fails the request. */
export function settledOutcome(
  outcome: ModelOutcome,
  policies: Policies,
  modelId: string,
): ModelOutcome {
  if (outcome.type === "failure" || outcome.unreadable_inputs === undefined) return outcome;
  if (worksAround(policies, "unreadable_input_answered", modelId)) return outcome;
  const message = "The model called a tool with an input that is not a JSON object.";
  const { usage } = outcome;
  return { type: "failure", kind: "request_failed", message, retryable: true, usage };
}

function reasonToGoOn(response: Response): GoOn | undefined {
  if (hasCall(response)) return hasReadableCall(response) ? undefined : "unreadable_calls";
  if (response.stop_reason === "pause_turn") return "paused";
  if (response.cut_call !== undefined) return "cut_call";
  return response.blocks.some(isVisible) ? undefined : "empty";
}

function hasCall({ blocks }: Response): boolean {
  return blocks.some(({ type }) => type === "tool_use");
}

function hasReadableCall({ blocks, unreadable_inputs = [] }: Response): boolean {
  const unreadable = new Set(unreadable_inputs.map(({ index }) => index));
  return blocks.some(({ type }, index) => type === "tool_use" && !unreadable.has(index));
}

/** Text that a user could read. Thinking alone says nothing to anybody. */
function isVisible(block: ModelBlock): boolean {
  return block.type === "text" && !isBlank(block);
}

/** Text that the API would not take back: it refuses blocks without a visible character. */
export function isBlank(block: ModelBlock): boolean {
  return typeof block["text"] !== "string" || isBlankText(block["text"]);
}
