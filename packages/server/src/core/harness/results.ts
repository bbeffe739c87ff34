import type { ResultBlock } from "@drover/api";
import { isBlankText } from "../blank-text.ts";
import { unreachable } from "../errors.ts";
import type { CallOutcome, EgressRecord } from "../ports/hands.ts";
import type { UnreadableInput } from "../ports/model.ts";
import type { EventDraft, ResultOrigin } from "../session/log-event.ts";
import type { OpenCall } from "../session/state.ts";
import { type Drafting, draft, sessionError } from "./drafting.ts";
import { unreadableInputText } from "./notes.ts";
import { webUse } from "./web-use.ts";

/** The hosted service's own words, which clients and models may know. */
const INTERRUPTED = "Tool execution was interrupted before completion. Please retry.";

/** A call to be answered. */
export type AnyCall = Pick<OpenCall, "id" | "kind">;

export function interruptedResult(drafting: Drafting, call: AnyCall): EventDraft {
  return errorResult(drafting, call, INTERRUPTED, { reason: "interrupted" });
}

/** Answers a call that was not sent anywhere, whoever was to run it. */
export function unsentResult(drafting: Drafting, call: AnyCall): EventDraft {
  return closingResult(drafting, call, INTERRUPTED, { reason: "interrupted" });
}

/** The model sent something that is no input, which is answered before anything else is asked. */
export function unreadableResult(
  drafting: Drafting,
  callId: string,
  input: UnreadableInput,
): EventDraft {
  // Which tool it would have been for has not been looked at.
  const call: AnyCall = { id: callId, kind: "hands" };
  return errorResult(drafting, call, unreadableInputText(input), { reason: "unreadable" });
}

/** The turn is being given up; what the call has done or will do is not known. */
export function abandonedResult(drafting: Drafting, call: AnyCall): EventDraft {
  const text = "The turn failed before this call was answered. Its outcome is unknown.";
  return closingResult(drafting, call, text, { reason: "turn_failed" });
}

/** What the model is told of a call that policy or the user refused. */
export function refusedResult(drafting: Drafting, call: OpenCall): EventDraft {
  if (call.confirmation?.result === "deny") {
    const { message } = call.confirmation;
    const said = message === null || isBlankText(message) ? "" : ` The user said: ${message}`;
    const text = `The user rejected this call. It was not run.${said}`;
    return errorResult(drafting, call, text, { reason: "rejected" });
  }
  const text =
    call.permission === "deny"
      ? "This call was judged to go beyond what the user asked for, or to do harm. It was not run."
      : "This tool is not available to the agent. The call was not run.";
  return errorResult(drafting, call, text, { reason: "denied" });
}

/** The call belongs to the session that this one was made from; nothing of it happens here. */
export function notCarriedResult(drafting: Drafting, call: AnyCall): EventDraft {
  const text =
    "This call was still open where the session was copied from. It was not carried over: it does not run here, and its result is not known.";
  return closingResult(drafting, call, text, { reason: "not_carried" });
}

/** No hands could be had, so the call was never sent. */
export function unavailableResult(drafting: Drafting, call: AnyCall, message: string): EventDraft {
  const text = `The tool could not be run: ${message}`;
  return errorResult(drafting, call, text, { reason: "unavailable" });
}

/** The settings of `web_fetch` allow no URL that comes from where this one does. It was not sent. */
export function foreignUrlResult(drafting: Drafting, call: AnyCall): EventDraft {
  const text =
    "web_fetch: url_not_allowed: this URL may not be fetched: it did not come up in the conversation where url_sources allows it. URLs must be used exactly as they were given.";
  return errorResult(drafting, call, text, { reason: "denied" });
}

/** Its hand's files are less than they were; the text says what may be missing. It was not run. */
export function filesGoneResult(drafting: Drafting, call: AnyCall, text: string): EventDraft {
  return errorResult(drafting, call, text, { reason: "files_gone" });
}

/** What came of a call that was sent to a hand. */
export function callResult(
  drafting: Drafting,
  call: AnyCall & { handId: string; name: string },
  outcome: Exclude<CallOutcome, { type: "files_gone" | "out_of_reach" }>,
): EventDraft {
  const hand_id = call.handId;
  switch (outcome.type) {
    case "result": {
      if (outcome.cancelled) return interruptedResult(drafting, call);
      const used = outcome.is_error ? undefined : webUse(call.name, drafting.prices);
      const origin = {
        ...({ reason: "executed", hand_id } as const),
        ...(used !== undefined && { used }),
        ...(outcome.tools_changed === true && { tools_changed: true as const }),
      };
      return result(drafting, call, outcome, origin);
    }
    case "lost":
      return errorResult(drafting, call, outcome.message, { reason: "lost", hand_id });
    case "refused":
      return interruptedResult(drafting, call);
    case "unavailable":
      return errorResult(drafting, call, outcome.message, {
        reason: "unavailable",
        hand_id,
      });
    default:
      return unreachable(outcome);
  }
}

/** The call was sent to another machine, and nobody knows what it does there. */
export function outOfReachResult(
  drafting: Drafting,
  call: AnyCall & { handId: string },
  text: string,
): EventDraft {
  return errorResult(drafting, call, text, { reason: "out_of_reach", hand_id: call.handId });
}

/** What the sandbox's way out decided meanwhile; nothing where it had nothing to decide. */
export function egressDrafts(
  drafting: Drafting,
  callId: string,
  outcome: CallOutcome,
): readonly EventDraft[] {
  return recordedEgress(drafting, callId, outcome.type === "result" ? outcome.egress : undefined);
}

export function recordedEgress(
  drafting: Drafting,
  call_id: string | null,
  records: readonly EgressRecord[] = [],
): readonly EventDraft[] {
  if (records.length === 0) return [];
  return [draft(drafting, "drover.egress", { public: {}, private: { call_id, records } })];
}

/** The session's repositories that could not be had for the call; it goes on without, and they are tried again. */
export function repositoryErrors(drafting: Drafting, outcome: CallOutcome): readonly EventDraft[] {
  const problems = outcome.type === "result" ? (outcome.repositories ?? []) : [];
  return problems.map(({ type, url, message }) =>
    sessionError(drafting, {
      type,
      message,
      repository_url: url,
      retry_status: { type: "retrying" },
    }),
  );
}

/** What its sandbox was made as, where the call was the first in there. */
export function sandboxDrafts(
  drafting: Drafting,
  callId: string,
  outcome: CallOutcome,
): readonly EventDraft[] {
  const facts = outcome.type === "result" ? outcome.sandbox : undefined;
  if (facts === undefined) return [];
  const stored = { public: {}, private: { call_id: callId, facts } };
  return [draft(drafting, "drover.sandbox_started", stored)];
}

/** What the model found when it looked back. */
export function lookedBackResult(
  drafting: Drafting,
  callId: string,
  text: string,
  isError: boolean,
): EventDraft {
  const content: ResultBlock[] = [{ type: "text", text }];
  const call: AnyCall = { id: callId, kind: "loop" };
  return result(drafting, call, { content, is_error: isError }, { reason: "looked_back" });
}

/** What the client was to run is answered in its place, so that it sees that nothing waits any more. */
function closingResult(
  drafting: Drafting,
  call: AnyCall,
  text: string,
  origin: ResultOrigin,
): EventDraft {
  if (call.kind !== "client") return errorResult(drafting, call, text, origin);
  const content: ResultBlock[] = [{ type: "text", text }];
  return draft(drafting, "user.custom_tool_result", {
    public: { custom_tool_use_id: call.id, content, is_error: true },
    private: origin,
  });
}

function errorResult(
  drafting: Drafting,
  call: AnyCall,
  text: string,
  origin: ResultOrigin,
): EventDraft {
  const content: ResultBlock[] = [{ type: "text", text }];
  return result(drafting, call, { content, is_error: true }, origin);
}

function result(
  drafting: Drafting,
  { id, kind }: AnyCall,
  outcome: { content: readonly ResultBlock[]; is_error: boolean },
  origin: ResultOrigin,
): EventDraft {
  const told = { content: [...outcome.content], is_error: outcome.is_error };
  return kind === "mcp"
    ? draft(drafting, "agent.mcp_tool_result", {
        public: { mcp_tool_use_id: id, ...told },
        private: origin,
      })
    : draft(drafting, "agent.tool_result", {
        public: { tool_use_id: id, ...told },
        private: origin,
      });
}
