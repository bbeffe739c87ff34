import { unreachable } from "../errors.ts";
import type { EventBodies, EventDraft } from "./log-event.ts";
import type { Confirmation, OpenCall, ThreadState } from "./state.ts";

type ToolEvent = Extract<
  EventDraft,
  {
    type:
      | "agent.tool_use"
      | "agent.tool_result"
      | "agent.mcp_tool_use"
      | "agent.mcp_tool_result"
      | "agent.custom_tool_use"
      | "user.custom_tool_result"
      | "user.tool_confirmation"
      | "drover.call_started";
  }
>;

/** Folds the life of tool calls: asked for, allowed, journalled, answered. */
export function foldToolEvent(thread: ThreadState, draft: ToolEvent): ThreadState {
  switch (draft.type) {
    case "agent.tool_use":
      return asked(thread, draft.id, {
        name: draft.public.name,
        kind: draft.private.run_by ?? "hands",
        permission: permissionOf(draft.public),
      });
    case "agent.mcp_tool_use":
      return asked(thread, draft.id, {
        name: draft.private.tool,
        kind: "mcp",
        permission: permissionOf(draft.public),
      });
    case "agent.custom_tool_use":
      return asked(thread, draft.id, {
        name: draft.public.name,
        kind: "client",
        permission: "allow",
      });
    case "user.tool_confirmation":
      return confirmed(thread, draft.public.tool_use_id, confirmationOf(draft.public));
    case "drover.call_started": {
      const { call_id, hand_id, hands_boot } = draft.private;
      return withCall(thread, call_id, {
        started: { handId: hand_id, handsBoot: hands_boot },
      });
    }
    case "agent.tool_result":
      return answered(withCall(thread, draft.public.tool_use_id, { answered: true }));
    case "agent.mcp_tool_result":
      return answered(withCall(thread, draft.public.mcp_tool_use_id, { answered: true }));
    case "user.custom_tool_result":
      return answered(withCall(thread, draft.public.custom_tool_use_id, { answered: true }));
    default:
      return unreachable(draft);
  }
}

function asked(
  thread: ThreadState,
  id: string,
  given: Pick<OpenCall, "name" | "kind" | "permission">,
): ThreadState {
  if (thread.request === null) return thread;
  const call: OpenCall = {
    id,
    ...given,
    confirmation: null,
    answered: false,
    started: null,
  };
  return { ...thread, request: { ...thread.request, calls: [...thread.request.calls, call] } };
}

function permissionOf(
  use: EventBodies["agent.tool_use" | "agent.mcp_tool_use"]["public"],
): OpenCall["permission"] {
  if (use.evaluated_permission === "deny") {
    return use.evaluation === undefined ? "unavailable" : "deny";
  }
  return use.evaluated_permission ?? "allow";
}

function confirmationOf(said: EventBodies["user.tool_confirmation"]["public"]): Confirmation {
  return said.result === "allow"
    ? { result: "allow" }
    : { result: "deny", message: said.deny_message ?? null };
}

/** Only the first answer to a call that asks counts. */
function confirmed(thread: ThreadState, callId: string, confirmation: Confirmation): ThreadState {
  const call = thread.calls.find(({ id }) => id === callId);
  if (call?.permission !== "ask" || call.confirmation !== null) return thread;
  return withCall(thread, callId, { confirmation });
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
