import { isObject, listOf } from "./rules/shape.ts";
import type { Json, JsonObject, MessagesRequest } from "./types.ts";

/** What a judge of tool calls is asked about. */
export interface JudgedCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly userMessages: readonly Json[];
}

/** The call that a request wants to have judged; undefined for a request of another kind. */
export function judgedCallOf({ lastUserText }: MessagesRequest): JudgedCall | undefined {
  if (!lastUserText.startsWith("{")) return undefined;
  const data: Json = JSON.parse(lastUserText);
  if (!isObject(data) || !isObject(data["tool"]) || !isObject(data["input"])) return undefined;
  return {
    tool: String(data["tool"]["name"]),
    input: data["input"],
    userMessages: listOf(data["user_messages"]),
  };
}
