import type { ClientEventParams } from "@drover/api";
import type { SessionKey } from "../core/ports/event-log.ts";
import { isToolUse } from "../core/session/called-tool.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import type { BrainWorld } from "./brain.ts";

/** The calls of a log, in its order, whoever runs them. */
export function callIds(log: readonly LogEvent[]): readonly string[] {
  return log.flatMap((event) =>
    isToolUse(event) || event.type === "agent.custom_tool_use" ? [event.id] : [],
  );
}

export function allow(id: string): ClientEventParams {
  return { type: "user.tool_confirmation", tool_use_id: id, result: "allow" };
}

export function deny(id: string, deny_message?: string): ClientEventParams {
  const why = deny_message === undefined ? {} : { deny_message };
  return { type: "user.tool_confirmation", tool_use_id: id, result: "deny", ...why };
}

export function result(id: string, said = "sunny"): ClientEventParams {
  const content = [{ type: "text" as const, text: said }];
  return { type: "user.custom_tool_result", custom_tool_use_id: id, content };
}

/** Answers whatever the session waits for: allows, except what deletes. */
export async function answerAll(brain: BrainWorld, key: SessionKey): Promise<void> {
  const log = await brain.log(key);
  const last = log.findLast((event) => event.type === "session.status_idle");
  if (last?.type !== "session.status_idle") return;
  const { stop_reason: reason } = last.public;
  if (reason.type !== "requires_action") return;
  for (const id of reason.event_ids) {
    const call = log.find((event) => event.id === id);
    if (call?.type === "agent.custom_tool_use") await brain.post(key, result(id));
    else if (call !== undefined && isToolUse(call)) {
      await brain.post(key, call.public.name === "ask_delete" ? deny(id, "No.") : allow(id));
    }
  }
}
