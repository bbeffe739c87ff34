import { StreamError } from "../response-builder.ts";

/** The end of a message, in the Messages API's words. */
interface End {
  readonly stop_reason: string;
  readonly stop_details?: {
    readonly type: "refusal";
    readonly category: string | null;
    readonly explanation: string | null;
  };
}

const LENGTH = ["length", "max_tokens", "model_length"];
/** Told by servers that could not go on; what came before is no answer. */
const BROKEN = ["error", "abort", "cancelled", "insufficient_system_resource"];

/**
 * How a response ended. What the reason says of tools is not believed: servers say `stop` with calls
 * and `tool_calls` with none, say something else, or nothing.
 */
export function endOf(
  finishReason: string | undefined,
  { hasCalls, refusal }: { hasCalls: boolean; refusal: string },
): End {
  if (finishReason !== undefined && BROKEN.includes(finishReason)) {
    throw new StreamError(`The model's server gave up with the reason ${finishReason}.`);
  }
  if (finishReason === "content_filter" || refusal !== "") {
    const category = finishReason === "content_filter" ? "content_filter" : null;
    const explanation = refusal === "" ? null : refusal;
    return { stop_reason: "refusal", stop_details: { type: "refusal", category, explanation } };
  }
  if (finishReason !== undefined && LENGTH.includes(finishReason)) {
    return { stop_reason: "max_tokens" };
  }
  return { stop_reason: hasCalls ? "tool_use" : "end_turn" };
}
