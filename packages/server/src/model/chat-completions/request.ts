import type { Provider, ProviderRequest } from "../provider.ts";
import { chatMessages } from "./messages.ts";
import { sentName } from "./tool-names.ts";

/** What a provider's server takes and what it refuses. */
export type Dialect = Pick<Provider, "leaveOut" | "maxTokensField" | "sendReasoningAs">;

/** Every model that can use tools has room for so many tokens, known or not. */
const ROOM_OF_ALL = 4_096;

/** The body of a request: what the configuration says of the model, and what the request says. */
export function chatBody(
  request: ProviderRequest,
  dialect: Dialect,
): Readonly<Record<string, unknown>> {
  const { model, system, messages, tools, max_tokens: maxTokens, effort, parameters } = request;
  const takes = (name: Provider["leaveOut"][number]) => !dialect.leaveOut.includes(name);
  // Most servers refuse more than the model has room for, so an unknown room is left unnamed.
  const isRoomSure = request.isLimitKnown === true || maxTokens <= ROOM_OF_ALL;
  const isSerial = request.parallelTools === false && tools.length > 0;
  return {
    ...parameters,
    model,
    messages: chatMessages(system, messages, { reasoningField: dialect.sendReasoningAs }),
    ...(tools.length > 0 && { tools: tools.map(chatTool) }),
    ...(isSerial && takes("parallel_tool_calls") && { parallel_tool_calls: false }),
    ...(isRoomSure && takes("max_tokens") && { [dialect.maxTokensField]: maxTokens }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    stream: true,
    ...(takes("stream_options") && { stream_options: { include_usage: true } }),
  };
}

function chatTool({
  name,
  description,
  input_schema: parameters,
}: ProviderRequest["tools"][number]) {
  return { type: "function", function: { name: sentName(name), description, parameters } };
}
