import type { OpenRequest } from "../session/state.ts";

/**
 * What a thread needs next. Each has an id that stays the same for as long as it is needed, so that
 * the driver can tell what is in flight, what is missing and what is no longer wanted.
 */
export type Action =
  /** Decisions that need nothing from outside: they are appended at once. */
  | { readonly kind: "append"; readonly id: string; readonly step: Step }
  /** Ask the model; the request's start is in the log. */
  | { readonly kind: "call_model"; readonly id: string; readonly request: OpenRequest }
  /** Have the calls of the response that is held judged. */
  | { readonly kind: "judge_calls"; readonly id: string }
  /** Ask the agent's MCP servers what tools they have. */
  | { readonly kind: "list_tools"; readonly id: string }
  /** Have somebody count how large the context is. */
  | { readonly kind: "count_context"; readonly id: string }
  /** Leave the older part of the context out, without a summary. */
  | { readonly kind: "cut_context"; readonly id: string }
  /** Answer a call from the log. */
  | { readonly kind: "look_back"; readonly id: string; readonly callId: string }
  /** Find out where the call will run, and journal that before it is sent. */
  | { readonly kind: "start_call"; readonly id: string; readonly callId: string }
  /** Send the call, or re-attach to it, and wait for its result. */
  | {
      readonly kind: "await_call";
      readonly id: string;
      readonly callId: string;
      readonly handId: string;
      readonly handsBoot: string;
    }
  /** End the call for the user's interrupt, and answer it with what came of it. */
  | {
      readonly kind: "cancel_call";
      readonly id: string;
      readonly callId: string;
      readonly handId: string;
      readonly handsBoot: string;
    }
  /** Go on at `atMs` (milliseconds since 1970). */
  | { readonly kind: "wait"; readonly id: string; readonly atMs: number };

export type Step =
  /** Take up what waits in the inbox and start a model request with it. */
  | { readonly type: "ask"; readonly attempt: number }
  /** Take up what waits in the inbox, and nothing more. */
  | { readonly type: "take_up" }
  /** Start a request for a summary of the older part of the context. */
  | { readonly type: "ask_summary"; readonly attempt: number }
  /** The context was compacted as often as it may be without the model saying anything. */
  | { readonly type: "exceed_compactions" }
  /** Answer calls that policy or the user refused. */
  | { readonly type: "refuse_calls"; readonly callIds: readonly string[] }
  /** A call that was waited for may run. */
  | { readonly type: "resume" }
  /** Only the client can go on: tell it what is waited for. */
  | { readonly type: "require_action" }
  /** Close what is open and was not sent anywhere, because the user interrupted. */
  | { readonly type: "interrupt_open"; readonly callIds: readonly string[] }
  /** Record the interrupt itself; ends the turn if there is one. */
  | { readonly type: "interrupt"; readonly eventId: string }
  /** The session is at its budget: the turn waits, with all that it has, until that changes. */
  | { readonly type: "hold" }
  /** Take up what waits in the inbox while the turn waits. */
  | { readonly type: "keep_input" }
  /** The turn has made more model requests than it may. */
  | { readonly type: "exceed_rounds" }
  /** Nothing is left to do. */
  | { readonly type: "end_turn" };
