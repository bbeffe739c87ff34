import type {
  Answer,
  AnswerBlock,
  Fault,
  JsonObject,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from "./types.ts";

export function text(value: string): TextBlock {
  return { type: "text", text: value };
}

export function thinking(value: string): ThinkingBlock {
  return { type: "thinking", thinking: value };
}

export function toolCall(name: string, input: JsonObject = {}): ToolUseBlock {
  return { type: "tool_use", name, input };
}

/** An answer made of these blocks; a string is a text block. */
export function answer(...blocks: readonly (AnswerBlock | string)[]): Answer {
  return { content: blocks.map((block) => (typeof block === "string" ? text(block) : block)) };
}

/** An answer that goes wrong; blocks matter only to faults that come after some events. */
export function failing(fault: Fault, ...blocks: readonly (AnswerBlock | string)[]): Answer {
  return { ...answer(...blocks), fault };
}

export function overloaded(): Answer {
  return failing({
    type: "status",
    status: 529,
    error_type: "overloaded_error",
    message: "Overloaded",
  });
}

export function rateLimited(retryAfterSeconds: number): Answer {
  return failing({
    type: "status",
    status: 429,
    error_type: "rate_limit_error",
    message: "This request would exceed the rate limit for your organization.",
    headers: { "retry-after": String(retryAfterSeconds) },
  });
}
