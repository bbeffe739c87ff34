import { unreachable } from "../errors.ts";
import type { EventDraft } from "./log-event.ts";
import type { OpenCall, ThreadState } from "./state.ts";

type ToolEvent = Extract<
  EventDraft,
  { type: "agent.tool_use" | "agent.tool_result" | "drover.call_started" }
>;

/** Folds the life of tool calls: asked for, journalled, answered. */
export function foldToolEvent(thread: ThreadState, draft: ToolEvent): ThreadState {
  switch (draft.type) {
    case "agent.tool_use": {
      if (thread.request === null) return thread;
      const call: OpenCall = {
        id: draft.id,
        name: draft.public.name,
        allowed: draft.public.evaluated_permission !== "deny",
        answered: false,
        started: null,
      };
      const request = { ...thread.request, calls: [...thread.request.calls, call] };
      return { ...thread, request };
    }
    case "drover.call_started": {
      const { call_id, hand_id, hands_boot } = draft.private;
      return withCall(thread, call_id, {
        started: { handId: hand_id, handsBoot: hands_boot },
      });
    }
    case "agent.tool_result":
      return answered(withCall(thread, draft.public.tool_use_id, { answered: true }));
    default:
      return unreachable(draft);
  }
}

/** Once every call has its result, the model can be asked again. */
function answered(thread: ThreadState): ThreadState {
  if (thread.calls.length === 0 || thread.calls.some((call) => !call.answered)) return thread;
  return { ...thread, calls: [], pending: true };
}

function withCall(thread: ThreadState, callId: string, change: Partial<OpenCall>): ThreadState {
  return {
    ...thread,
    calls: thread.calls.map((call) => (call.id === callId ? { ...call, ...change } : call)),
  };
}
