import type { ModelBlock, ModelMessage } from "../core/ports/model.ts";

/**
 * The same conversation with every response that has several tool uses told as several responses,
 * each with its one result after it. Nothing is left out, and the order stays.
 */
export function oneToolAtATime(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const told: ModelMessage[] = [];
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined) break;
    const uses = message.role === "assistant" ? message.content.filter(isUse).length : 0;
    const answer = messages[at + 1];
    if (uses < 2 || answer?.role !== "user") {
      told.push(message);
      continue;
    }
    told.push(...exchanges(message, answer));
    at += 1;
  }
  return told;
}

function exchanges(response: ModelMessage, answer: ModelMessage): readonly ModelMessage[] {
  const results = new Map(
    answer.content
      .filter(({ type }) => type === "tool_result")
      .map((block) => [block["tool_use_id"], block]),
  );
  const rest = answer.content.filter(({ type }) => type !== "tool_result");
  const parts = partsOf(response.content);
  return parts.flatMap((content, index): readonly ModelMessage[] => {
    const result = results.get(content.find(isUse)?.["id"]);
    const isLast = index === parts.length - 1;
    const back = [...(result === undefined ? [] : [result]), ...(isLast ? rest : [])];
    return [
      { role: "assistant", content },
      { role: "user", content: back },
    ];
  });
}

/** Each ends with a tool use; what follows the last use stays with it. */
function partsOf(content: readonly ModelBlock[]): readonly (readonly ModelBlock[])[] {
  const parts: ModelBlock[][] = [[]];
  for (const block of content) {
    const last = parts.at(-1) ?? [];
    if (isUse(block) && last.some(isUse)) parts.push([block]);
    else last.push(block);
  }
  return parts;
}

function isUse({ type }: ModelBlock): boolean {
  return type === "tool_use";
}
