import type { TurnError } from "@drover/api";
import type { UnreadableInput } from "../ports/model.ts";
import type { GoOn, RequestEnd } from "../session/log-event.ts";

/** Characters of the model's own input that it is shown again. */
const SHOWN_MAX = 300;

/**
 * What the model is told after its response, in the name of the user, so that it goes on. Made from the
 * log alone, so that it is the same in every later request.
 */
export function noteAfter(end: RequestEnd): string | undefined {
  // What was cut off is not in the conversation, also where the response had other calls.
  if (end.cut_call !== undefined) return cutNote(end.cut_call);
  if (end.go_on === "paused") return "Go on.";
  if (end.go_on === "empty") {
    return "Your last answer was empty. Go on with the task, or say what you have done.";
  }
  return undefined;
}

function cutNote(name: string): string {
  return `Your last answer reached its limit of tokens in the middle of a call of ${quoted(name)}, which was not run. Go on with the task in smaller steps, such as a long file in several parts.`;
}

/** The result of a call whose input was no JSON object. */
export function unreadableInputText({ text }: Pick<UnreadableInput, "text">): string {
  const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX).toWellFormed()}…` : text;
  return `The input of this call was not a JSON object, so it was not run. Call the tool again with one. What was sent began with: ${shown}`;
}

/** The error of a turn that went on too often in a row without getting any further. */
export function stalledError(because: GoOn, times: number): TurnError {
  const often = `${times} time${times === 1 ? "" : "s"} in a row`;
  const errors = {
    paused: {
      type: "tool_use_limit_reached_error",
      message: `The model paused its turn ${often}.`,
    },
    cut_call: {
      type: "model_request_failed_error",
      message: `The model's answer reached its limit of tokens in the middle of a tool call ${often}.`,
    },
    empty: {
      type: "model_request_failed_error",
      message: `The model answered with nothing ${often}.`,
    },
    unreadable_calls: {
      type: "model_request_failed_error",
      message: `The model called its tools with inputs that are not JSON objects ${often}.`,
    },
  } as const satisfies Record<GoOn, Pick<TurnError, "type" | "message">>;
  return { ...errors[because], retry_status: { type: "exhausted" } };
}

function quoted(name: string): string {
  return name === "" ? "a tool" : `\`${name.slice(0, 100).toWellFormed()}\``;
}
