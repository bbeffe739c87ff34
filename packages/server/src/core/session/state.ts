import type { Budget, StopDetails, StopReason } from "@drover/api";
import type { ModelUsage } from "../ports/model.ts";
import type { SessionStatus } from "../ports/sessions.ts";
import { type Account, EMPTY_ACCOUNT } from "./account.ts";
import { type ContextState, NEW_CONTEXT } from "./context-state.ts";
import type { GoOn } from "./log-event.ts";

/**
 * Control state: what the log says the session is in the middle of. Everything the next decision
 * needs and nothing the model reads, so that a checkpoint of it stays small.
 */
export interface SessionState {
  /** The last event folded in. */
  readonly seq: number;
  readonly status: SessionStatus;
  /** Ids of the calls that the session was last said to be idle for; null if it is not, or for none. */
  readonly blockedOn: readonly string[] | null;
  readonly threads: Readonly<Record<string, ThreadState>>;
  /** Of all threads together; time in which several run counts once. */
  readonly account: Account;
  /** What it may consume; null for as much as it likes. */
  readonly budget: Budget | null;
}

/** How often each; what is absent was not. */
export type GoOns = Readonly<Partial<Record<GoOn, number>>>;

export interface ThreadState {
  readonly status: SessionStatus;
  /** The model request that has a start and no end yet. */
  readonly request: OpenRequest | null;
  /** Tool calls of the newest response, in its order, until all of them are answered. */
  readonly calls: readonly OpenCall[];
  /**
   * Ids of the calls that the thread was last said to be idle for, waiting for its client; null if it
   * is not. Its turn is not over: it goes on once they are answered.
   */
  readonly blockedOn: readonly string[] | null;
  /** True if there is input or a result that the model has not been asked about. */
  readonly pending: boolean;
  /** Set while the turn waits to ask again. */
  readonly retry: { readonly attempt: number; readonly atMs: number } | null;
  /** Failed requests in a row. */
  readonly failures: number;
  /** When the first of them failed (milliseconds since 1970), once another attempt is scheduled. */
  readonly failingSinceMs: number | null;
  /** Responses in a row that brought this turn no further, by what they lacked. */
  readonly goOns: GoOns;
  /** Model requests answered in this turn. */
  readonly rounds: number;
  /** How the turn ends once nothing is open; set by what ended it. */
  readonly ending: Ending | null;
  /** What it has used itself; the session's running time costs nothing here. */
  readonly account: Account;
  /**
   * `held` while it is idle in the middle of a turn because the session is at its budget; `released`
   * from when that changes until it runs again.
   */
  readonly hold: "held" | "released" | null;
  readonly context: ContextState;
  /** What is known of its MCP servers; null before they were asked. */
  readonly mcp: ListedTools | null;
}

export interface ListedTools {
  /** Of the newest `drover.mcp_tools_listed`. */
  readonly seq: number;
  /** About how many tokens the definitions of all listed tools are. */
  readonly tokens: number;
  /** True if some server could not be asked: then all are asked again with the next turn. */
  readonly hasFailed: boolean;
  /** True if the servers are to be asked again before the next model request. */
  readonly isStale: boolean;
}

export interface OpenRequest {
  /** Id of its `span.model_request_start`. */
  readonly id: string;
  readonly attempt: number;
  /** `compaction`: the response is a summary, and no part of the conversation. */
  readonly purpose: "turn" | "compaction";
  /** Calls of its response so far; they count once the response's end is in the log. */
  readonly calls: readonly OpenCall[];
  /** Set once its response is there and is kept back until its calls are judged. */
  readonly held: { readonly seq: number; readonly usage: ModelUsage } | null;
}

export interface OpenCall {
  /** Id of the `agent.tool_use`, `agent.mcp_tool_use` or `agent.custom_tool_use`. */
  readonly id: string;
  /** As the model calls it. */
  readonly name: string;
  /** Who runs it: the hands, by themselves or by an MCP server, the client, or the loop itself, from the log. */
  readonly kind: "hands" | "mcp" | "client" | "loop";
  /**
   * What its policy said: run it, ask the user, or refuse it. `unavailable` is the refusal of a tool
   * that the agent does not have, before any policy applied. A call of the client's has no policy.
   */
  readonly permission: "allow" | "ask" | "deny" | "unavailable";
  /** What the user said to a call with permission `ask`; null until then. */
  readonly confirmation: Confirmation | null;
  readonly answered: boolean;
  /** Where it was sent, once that is journalled. */
  readonly started: { readonly handId: string; readonly handsBoot: string } | null;
}

export type Confirmation =
  | { readonly result: "allow" }
  | { readonly result: "deny"; readonly message: string | null };

export interface Ending {
  readonly stop_reason: StopReason;
  readonly stop_details: StopDetails;
}

/** Version of `fold` and of this shape; a checkpoint of another version is not used. */
export const FOLD_VERSION = 8;

export const IDLE_THREAD: ThreadState = {
  status: "idle",
  request: null,
  calls: [],
  blockedOn: null,
  pending: false,
  retry: null,
  failures: 0,
  failingSinceMs: null,
  goOns: {},
  rounds: 0,
  ending: null,
  account: EMPTY_ACCOUNT,
  hold: null,
  context: NEW_CONTEXT,
  mcp: null,
};

export const NEW_SESSION: SessionState = {
  seq: 0,
  status: "idle",
  blockedOn: null,
  threads: {},
  account: EMPTY_ACCOUNT,
  budget: null,
};

/** The thread's state; a thread that has not said anything yet is idle. */
export function threadState(state: SessionState, threadId: string): ThreadState {
  return state.threads[threadId] ?? IDLE_THREAD;
}

/** True from the first event of a turn to its last, also while it waits for its client or is held. */
export function isTurnOpen({ status, blockedOn, hold }: ThreadState): boolean {
  return status === "running" || status === "rescheduling" || blockedOn !== null || hold !== null;
}

/** The same with another state of one thread. */
export function withThread(
  state: SessionState,
  threadId: string,
  thread: ThreadState,
): SessionState {
  return { ...state, threads: { ...state.threads, [threadId]: thread } };
}
