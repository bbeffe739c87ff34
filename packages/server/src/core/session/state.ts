import type { SessionUsage, StopDetails, StopReason } from "@drover/api";
import type { SessionStatus } from "../ports/sessions.ts";

/**
 * Control state: what the log says the session is in the middle of. Everything the next decision
 * needs and nothing the model reads, so that a checkpoint of it stays small.
 */
export interface SessionState {
  /** The last event folded in. */
  readonly seq: number;
  readonly status: SessionStatus;
  readonly threads: Readonly<Record<string, ThreadState>>;
  readonly usage: SessionUsage;
  /** Milliseconds of finished running time. */
  readonly activeMs: number;
  /** When the current run began (RFC 3339); null while idle. */
  readonly runningSince: string | null;
}

export interface ThreadState {
  readonly status: SessionStatus;
  /** The model request that has a start and no end yet. */
  readonly request: OpenRequest | null;
  /** Tool calls of the newest response, in its order, until all of them are answered. */
  readonly calls: readonly OpenCall[];
  /** True if there is input or a result that the model has not been asked about. */
  readonly pending: boolean;
  /** Set while the turn waits to ask again. */
  readonly retry: { readonly attempt: number; readonly atMs: number } | null;
  /** Failed requests in a row. */
  readonly failures: number;
  /** When the first of them failed (milliseconds since 1970), once another attempt is scheduled. */
  readonly failingSinceMs: number | null;
  /** Responses in a row that brought this turn no further. */
  readonly goOns: number;
  /** Model requests answered in this turn. */
  readonly rounds: number;
  /** How the turn ends once nothing is open; set by what ended it. */
  readonly ending: Ending | null;
  /** `seq` of the last compaction: the context begins there. 0 for the whole log. */
  readonly contextSeq: number;
}

export interface OpenRequest {
  /** Id of its `span.model_request_start`. */
  readonly id: string;
  readonly attempt: number;
  /** Calls of its response so far; they count once the response's end is in the log. */
  readonly calls: readonly OpenCall[];
}

export interface OpenCall {
  /** Id of the `agent.tool_use`. */
  readonly id: string;
  readonly name: string;
  /** False if policy refused it before it could run. */
  readonly allowed: boolean;
  readonly answered: boolean;
  /** Where it was sent, once that is journalled. */
  readonly started: { readonly handId: string; readonly handsBoot: string } | null;
}

export interface Ending {
  readonly stop_reason: StopReason;
  readonly stop_details: StopDetails;
}

/** Version of `fold` and of this shape; a checkpoint of another version is not used. */
export const FOLD_VERSION = 2;

export const IDLE_THREAD: ThreadState = {
  status: "idle",
  request: null,
  calls: [],
  pending: false,
  retry: null,
  failures: 0,
  failingSinceMs: null,
  goOns: 0,
  rounds: 0,
  ending: null,
  contextSeq: 0,
};

export const NEW_SESSION: SessionState = {
  seq: 0,
  status: "idle",
  threads: {},
  usage: {},
  activeMs: 0,
  runningSince: null,
};

/** The thread's state; a thread that has not said anything yet is idle. */
export function threadState(state: SessionState, threadId: string): ThreadState {
  return state.threads[threadId] ?? IDLE_THREAD;
}

/** The same with another state of one thread. */
export function withThread(
  state: SessionState,
  threadId: string,
  thread: ThreadState,
): SessionState {
  return { ...state, threads: { ...state.threads, [threadId]: thread } };
}
