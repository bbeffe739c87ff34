import { textOf } from "./run-once.ts";
import type { SessionEvent } from "./session-watch.ts";
import type { Voice } from "./transcript.ts";

/** How an event is shown in the transcript; undefined for one that tells a person nothing. */
export function lineOf(event: SessionEvent): { voice: Voice; text: string } | undefined {
  switch (event.type) {
    case "user.message":
      return { voice: "you", text: textOf(event) };
    case "agent.message":
      return { voice: "agent", text: textOf(event) };
    case "agent.tool_use":
      return { voice: "runs", text: commandOf(event) };
    case "agent.tool_result":
      return { voice: "result", text: textOf(event) || "(no output)" };
    case "session.error":
      return { voice: "error", text: event.error.message };
    default:
      return undefined;
  }
}

function commandOf(event: Extract<SessionEvent, { type: "agent.tool_use" }>): string {
  const { command, file_path: path, content } = event.input;
  if (typeof command === "string") return `$ ${command}`;
  if (typeof path === "string" && typeof content === "string") {
    return `${event.name} ${path}\n${content}`;
  }
  return `${event.name} ${JSON.stringify(event.input)}`;
}
