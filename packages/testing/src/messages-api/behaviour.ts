import { createHash } from "node:crypto";
import { answer } from "./answers.ts";
import { judgedCallOf } from "./judged.ts";
import { isList, messagesOf } from "./rules/shape.ts";
import type { Answer, Json, JsonObject, MessagesRequest, Script } from "./types.ts";

const SCRIPT_LINE = /^#script (.*)$/m;
const MAX_CONVERSATIONS = 10_000;

/**
 * The behaviour of a double without a script: a user message may carry its own, as one line
 * `#script [answer, answer, …]` (JSON, `Answer` of `types.ts`). The n-th answer is given when n
 * assistant messages have followed that message, so it depends on the request alone, except for
 * `fault.times`, which counts the requests that carried the same conversation. When the answers are
 * used up it says `done`; without a script it says what it was told. As a judge of calls it allows them.
 */
export function scriptedByMessages(): Script {
  const attempts = new Map<string, number>();
  return (request) => {
    if (judgedCallOf(request) !== undefined) return answer(JSON.stringify({ verdict: "allow" }));
    const found = findScript(request.body);
    if (found === undefined) return answer(`You said: ${request.lastUserText || "nothing"}`);
    const step = found.answers[found.step];
    if (step === undefined) return answer("done");
    return withoutSpentFault(step, request, attempts);
  };
}

/** The text blocks of the last user message that has any, a line each. */
export function lastUserText(body: Json): string {
  for (const message of messagesOf(body).toReversed()) {
    const text = message.role === "user" ? textOf(message) : "";
    if (text !== "") return text;
  }
  return "";
}

function findScript(body: JsonObject): { answers: readonly Answer[]; step: number } | undefined {
  let step = 0;
  for (const message of messagesOf(body).toReversed()) {
    if (message.role === "assistant") step += 1;
    const json = message.role === "user" ? SCRIPT_LINE.exec(textOf(message))?.[1] : undefined;
    if (json !== undefined) return { answers: parse(json), step };
  }
  return undefined;
}

function parse(json: string): readonly Answer[] {
  const answers: Json = JSON.parse(json);
  if (!isList(answers)) throw new Error("a #script line is a JSON list of answers");
  return answers as unknown as readonly Answer[];
}

function withoutSpentFault(
  step: Answer,
  request: MessagesRequest,
  attempts: Map<string, number>,
): Answer {
  const { fault, ...proper } = step;
  if (fault?.times === undefined) return step;
  const key = createHash("sha256").update(JSON.stringify(request.body["messages"])).digest("hex");
  const attempt = (attempts.get(key) ?? 0) + 1;
  if (attempts.size >= MAX_CONVERSATIONS) attempts.clear();
  attempts.set(key, attempt);
  return attempt <= fault.times ? step : proper;
}

function textOf({ blocks }: ReturnType<typeof messagesOf>[number]): string {
  return blocks
    .filter(({ type }) => type === "text")
    .map(({ block }) => String(block["text"]))
    .join("\n");
}
