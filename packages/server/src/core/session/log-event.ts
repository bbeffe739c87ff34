import type {
  Budget,
  SessionEvent,
  SessionEventOf,
  StopDetails,
  SystemMessageParams,
  ToolEvaluation,
  UserCustomToolResultParams,
  UserInterruptParams,
  UserMessageParams,
  UserToolConfirmationParams,
  UserToolResultParams,
} from "@drover/api";
import type { EgressRecord } from "../ports/hands.ts";
import type { McpListing } from "../ports/mcp-servers.ts";
import type { ModelBlock, ModelOutcome, ModelUsage } from "../ports/model.ts";
import type { SandboxFacts } from "../sandboxes/facts.ts";

type Body<Params> = Omit<Params, "type">;
/** An event as the contract shows it, without what the log adds. */
type Shown<T extends SessionEvent["type"]> = Omit<
  SessionEventOf<T>,
  "id" | "type" | "processed_at"
>;
type Empty = Readonly<Record<string, never>>;
type Entry<Public, Private = Empty> = { public: Public; private: Private };

/** Which model response an event came from, and the blocks to send back for it, byte for byte. */
export interface ModelOrigin {
  /** Id of the `span.model_request_start`. */
  readonly request: string;
  readonly blocks: readonly { readonly index: number; readonly block: ModelBlock }[];
}

/** Why a tool call has the result it has. */
export interface ResultOrigin {
  readonly reason:
    | "executed"
    | "lost"
    /** It was another machine's, and may still run there. */
    | "out_of_reach"
    | "interrupted"
    | "unavailable"
    /** Of the sandbox that it was for. */
    | "files_gone"
    /** By policy. */
    | "denied"
    | "unreadable"
    /** From the log. */
    | "looked_back"
    /** By the user. */
    | "rejected"
    | "turn_failed"
    | "not_carried";
  readonly hand_id?: string;
  /** What the call used beside tokens; absent if nothing. */
  readonly used?: WebUse;
  /** Set if its server said that it has other tools now. */
  readonly tools_changed?: true;
}

/** Requests to the web that were answered, and what they cost. */
export interface WebUse {
  readonly web_search_requests?: number;
  readonly web_fetch_requests?: number;
  /** As in `RequestEnd`. */
  readonly cost: string;
}

/**
 * Every event type with what clients see (`public`: the wire's shape without `id`, `type` and
 * `processed_at`) and what replay and tracing need besides (`private`). `drover.*` events are never
 * shown by the contract's endpoints.
 */
export interface EventBodies {
  "user.message": Entry<Body<UserMessageParams>>;
  "user.interrupt": Entry<Body<UserInterruptParams>>;
  "user.tool_confirmation": Entry<Body<UserToolConfirmationParams>>;
  /** With an origin if the server answered in place of the client. */
  "user.custom_tool_result": Entry<Body<UserCustomToolResultParams>, Empty | ResultOrigin>;
  "user.tool_result": Entry<Body<UserToolResultParams>>;
  "system.message": Entry<Body<SystemMessageParams>>;
  "agent.message": Entry<Shown<"agent.message">, ModelOrigin>;
  "agent.thinking": Entry<Empty, ModelOrigin>;
  /** `run_by` is given for a call that the loop answers itself, and no hand runs. */
  "agent.tool_use": Entry<Shown<"agent.tool_use">, ModelOrigin & { readonly run_by?: "loop" }>;
  "agent.tool_result": Entry<Shown<"agent.tool_result">, ResultOrigin>;
  /** `tool` is the name that the model knows it by. */
  "agent.mcp_tool_use": Entry<Shown<"agent.mcp_tool_use">, ModelOrigin & { readonly tool: string }>;
  "agent.mcp_tool_result": Entry<Shown<"agent.mcp_tool_result">, ResultOrigin>;
  "agent.custom_tool_use": Entry<Shown<"agent.custom_tool_use">, ModelOrigin>;
  /** `hour_price`: picodollars for an hour of the run that begins, as decimal text. */
  "session.status_running": Entry<Empty, { readonly hour_price?: string }>;
  "agent.thread_context_compacted": Entry<Empty, Compaction>;
  "session.status_rescheduled": Entry<Empty>;
  "session.status_idle": Entry<Shown<"session.status_idle">>;
  "session.status_terminated": Entry<Empty>;
  "session.thread_status_running": Entry<Shown<"session.thread_status_running">>;
  "session.thread_status_rescheduled": Entry<Shown<"session.thread_status_rescheduled">>;
  "session.thread_status_idle": Entry<Shown<"session.thread_status_idle">>;
  "session.thread_status_terminated": Entry<Shown<"session.thread_status_terminated">>;
  "session.error": Entry<Shown<"session.error">, { readonly cause?: string }>;
  "session.updated": Entry<Shown<"session.updated">>;
  "session.usage": Entry<Shown<"session.usage">>;
  "session.deleted": Entry<Empty>;
  "span.model_request_start": Entry<Empty, RequestStart>;
  "span.model_request_end": Entry<Shown<"span.model_request_end">, RequestEnd>;
  /** A response whose calls have to be judged before its events can say what may run. */
  "drover.response_held": Entry<Empty, HeldResponse>;
  /** What was judged of a response's calls, directly before its events. */
  "drover.calls_judged": Entry<Empty, JudgedCalls>;
  /** What the session's MCP servers have: what is offered of it from here on, in whatever process. */
  "drover.mcp_tools_listed": Entry<Empty, Pick<McpListing, "servers">>;
  /** Journalled before a call is sent: where it runs, so that it is never sent twice. */
  "drover.call_started": Entry<
    Empty,
    { readonly call_id: string; readonly hand_id: string; readonly hands_boot: string }
  >;
  /**
   * Whom the session spoke to until the call's result, which is directly before this; without a call, until its MCP
   * servers were listed.
   */
  "drover.egress": Entry<
    Empty,
    { readonly call_id: string | null; readonly records: readonly EgressRecord[] }
  >;
  /** What the sandbox was made as in which the call ran, if it was the first in there. */
  "drover.sandbox_started": Entry<
    Empty,
    { readonly call_id: string; readonly facts: SandboxFacts }
  >;
  /** The session's hand was given to another one, and its next call begins with `new_hand_id`. */
  "drover.hand_passed": Entry<
    Empty,
    { readonly hand_id: string; readonly to: string; readonly new_hand_id: string }
  >;
  /** The session has the hand of another one, with its files, from here on. */
  "drover.hand_taken": Entry<Empty, { readonly hand_id: string; readonly from: string }>;
  /** Everything before is a copy of another session's log; what was open there is closed behind it. */
  "drover.forked": Entry<Empty, ForkOrigin>;
  /** What the session may consume, from its creation on. */
  "drover.budget_set": Entry<Empty, { readonly budget: Budget }>;
  /** What an API said of the size of the context as it was; null if it could not be asked. */
  "drover.context_counted": Entry<Empty, { readonly tokens: number | null }>;
  /**
   * Media that the model's API refused: from now on a sentence stands in their `places` of the event's
   * content. `message` is the API's own, scrubbed.
   */
  "drover.content_withheld": Entry<
    Empty,
    { readonly event_id: string; readonly places: readonly number[]; readonly message: string }
  >;
  /** The turn goes on at `at_ms` (milliseconds since 1970). */
  "drover.retry_scheduled": Entry<
    Empty,
    {
      readonly attempt: number;
      readonly at_ms: number;
      /** When the first of these failures in a row came; absent in old logs. */
      readonly since_ms?: number;
    }
  >;
}

/** Where the copied part of a log comes from. */
export interface ForkOrigin {
  readonly session_id: string;
  /** The last event that was copied, by its id there; null for a log that was empty. */
  readonly event_id: string | null;
  /** When that event was processed (RFC 3339): the session did not run from then until now. */
  readonly until: string | null;
  /** What the model is told of it; null if it has nothing to know. */
  readonly note: string | null;
}

/** Why a turn goes on after a response that brought it no further. */
export type GoOn =
  /** The model has more to say. */
  | "paused"
  /** Its limit of tokens fell into the middle of a call. */
  | "cut_call"
  /** There was nothing in it. */
  | "empty"
  /** None of its calls had an input that could be read. */
  | "unreadable_calls";

/** A whole model response, with all that its events are made of. */
export interface HeldResponse {
  /** Id of the `span.model_request_start`. */
  readonly request: string;
  readonly response: Omit<Extract<ModelOutcome, { type: "response" }>, "request_id"> & {
    readonly request_id?: string | undefined;
  };
  /** As in `RequestEnd`. It counts from here on, and not again with the end of the request. */
  readonly cost?: string;
  /** The ids under which its blocks were previewed. */
  readonly preview_ids: readonly (string | null)[];
}

export interface JudgedCalls {
  /** Id of the `span.model_request_start`. */
  readonly request: string;
  /** The judge's model id. */
  readonly model: string;
  readonly opinions: readonly {
    /** Of the call's block in its response. */
    readonly index: number;
    readonly judgement: Judgement;
    readonly reason: string;
    /** Absent if no judge was asked, or it reported none. */
    readonly usage?: ModelUsage;
    /** As in `RequestEnd`. */
    readonly cost?: string;
  }[];
}

/** What a judge said to one call, in the contract's words; reason codes are an open set. */
export type Judgement = Extract<ToolEvaluation, { type: "auto" }>["evaluated_permission"];

export interface RequestStart {
  readonly model: string;
  readonly attempt: number;
  /** `turn` unless given. */
  readonly purpose?: "compaction";
}

/** What the older part of a context is replaced by. */
export interface Compaction {
  /** `summary`: a model wrote it. `cut`: nobody could be asked. */
  readonly how: "summary" | "cut";
  /** Stands for everything before `kept_from`. */
  readonly summary: readonly ModelBlock[];
  /** The newest input before `kept_from`, as it was, if what came of it goes on after. */
  readonly input: readonly ModelBlock[];
  /** What the system had said in the conversation until then. */
  readonly system?: readonly ModelBlock[];
  /** `seq` of the first event that is sent as it is. */
  readonly kept_from: number;
  /** Estimates of the messages alone. */
  readonly tokens_before: number;
  readonly tokens_after: number;
}

/** How a model request ended. */
export interface RequestEnd {
  readonly outcome: "response" | "failed" | "interrupted" | "lost";
  /** Why another request is to be made instead, where there is such a reason. */
  readonly reason?: "prompt_too_long" | "no_summary";
  /** Tokens of the model's window, where the refusal told it. */
  readonly window_tokens?: number;
  readonly stop_reason?: string | null;
  /** Set where the model is asked again at once, without anything new for it. */
  readonly go_on?: GoOn;
  /** The tool whose call was cut off and left out. */
  readonly cut_call?: string;
  /** Set when the model refused. */
  readonly refusal?: StopDetails;
  /** As the API reported it; absent counts are absent. */
  readonly usage?: ModelUsage;
  /** Picodollars for it at the list price of then, as decimal text; absent if that is not known. */
  readonly cost?: string;
  readonly api_request_id?: string;
  readonly message?: string;
  /** What the model was not sent because it cannot take it, a sentence each. */
  readonly held_back?: readonly string[];
  /** Blocks of the response that have no event of their own, such as empty text. */
  readonly blocks?: ModelOrigin["blocks"];
}

export type EventType = keyof EventBodies;

/** An event before the log has given it a place. Its id is final. */
export type EventDraft = {
  [T in EventType]: EventBodies[T] & {
    readonly id: string;
    readonly type: T;
    readonly thread_id: string;
    /** True to show a child thread's event on the session's stream as well. */
    readonly cross_posted: boolean;
  };
}[EventType];

/** A committed event: it never changes. */
export type LogEvent = EventDraft & {
  /** Counts from 1 within the session, without gaps. */
  readonly seq: number;
  /** Version of the shape, for `upcast`. */
  readonly v: number;
  /** RFC 3339 with milliseconds; never less than that of the event before. */
  readonly processed_at: string;
  /** The lease epoch it was appended under; 0 for receipts. */
  readonly epoch: number;
};

export type LogEventOf<T extends EventType> = Extract<LogEvent, { type: T }>;

/** The shape version that this code writes. */
export const EVENT_VERSION = 1;

/** Input that waits to be taken up, with its final id. */
export type InboxEvent = Extract<
  EventDraft,
  { type: "user.message" | "user.interrupt" | "system.message" }
> & {
  /** Order of arrival within the session; gaps are possible. */
  readonly arrival: number;
  /** RFC 3339 with milliseconds. */
  readonly accepted_at: string;
};
