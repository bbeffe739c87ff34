import type { SystemTurns } from "../models/system-turns.ts";
import type { ModelBlock, ModelMessage } from "../ports/model.ts";

/**
 * One message for everything that the user said and was answered between two answers of the model, and
 * one behind it for what the system said there: the API takes a system message only after a user's and
 * before an answer or the end. Empty ones go.
 */
export function merged(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const list: { role: ModelMessage["role"]; content: ModelBlock[] }[] = [];
  let system: ModelBlock[] = [];
  const endInput = () => {
    if (system.length > 0) list.push({ role: "system", content: system });
    system = [];
  };
  for (const { role, content } of messages) {
    if (content.length === 0) continue;
    if (role === "system") {
      system.push(...content);
      continue;
    }
    if (role === "assistant") endInput();
    const last = list.at(-1);
    if (last?.role === role) last.content.push(...content);
    else list.push({ role, content: [...content] });
  }
  endInput();
  return list;
}

/**
 * The same for a model that takes system messages so, or not at all: then they are text at the end of
 * the user's message, under a name that tells whose they are. So is one that no user's message precedes.
 */
export function withSystemTurns(
  messages: readonly ModelMessage[],
  systemTurns: SystemTurns,
): readonly ModelMessage[] {
  const spoken = messages.map((message, index): ModelMessage => {
    const isTurn = systemTurns === "turn" && messages[index - 1]?.role === "user";
    if (message.role !== "system" || isTurn) return message;
    return { role: "user", content: message.content.map(asUserText) };
  });
  return merged(spoken);
}

function asUserText(block: ModelBlock): ModelBlock {
  const text = `<system_message>\n${String(block["text"])}\n</system_message>`;
  return { type: "text", text };
}
