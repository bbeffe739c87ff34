import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { ModelMessage } from "../core/ports/model.ts";
import { parseScript, takeScript } from "./offline-script.ts";

/** What a judge of tool calls is asked about. */
const Question = z.object({
  tool: z.object({ name: z.string() }),
  input: z.record(z.string(), z.unknown()),
  user_messages: z.array(z.string()),
});

/**
 * The verdict of an offline model that is asked to judge a call: what the user's newest script says with
 * `judge` at that call. Undefined for a request of another kind; no verdict if the script has none.
 */
export function offlineVerdict(messages: readonly ModelMessage[]): string | undefined {
  const [only, ...more] = messages;
  const [block] = only?.content ?? [];
  if (more.length > 0 || block?.type !== "text") return undefined;
  const question = Question.safeParse(jsonOf(String(block["text"])));
  if (!question.success) return undefined;
  const { tool, input, user_messages } = question.data;
  const script = user_messages
    .toReversed()
    .map((text) => takeScript(text).script)
    .find((text) => text !== undefined);
  const calls = (script === undefined ? [] : parseScript(script))
    .flatMap((step) => step.calls)
    .filter((call) => call.tool === tool.name && call.judge !== undefined);
  // An input that was filled by templates is not what the script has.
  const call = calls.find((one) => isDeepStrictEqual(one.input, input)) ?? calls[0];
  if (call === undefined) return "The script does not say.";
  return JSON.stringify({ verdict: call.judge, reason: "The script says so." });
}

function jsonOf(text: string): unknown {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
