import { SessionAgent, type SessionReplayParams } from "@drover/api";
import { forkedSessionAgent } from "../core/agents/session-agent.ts";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { McpListing } from "../core/ports/mcp-servers.ts";
import type { ModelOutcome, ModelUsage } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import { compareResponses } from "../core/replay/compare.ts";
import {
  REQUEST_TYPES,
  type RecordedRequest,
  RequestFinder,
} from "../core/replay/recorded-requests.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { keyOf } from "./input.ts";
import { getSessionRecord } from "./sessions-wire.ts";

const PAGE_EVENTS = 500;
const REQUESTS_DEFAULT = 20;
/** A model that cannot be had is not asked again and again. */
const FAILURES_MAX = 3;

export interface ReplayOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  /** Asks the session's model for what would follow these events. Never rejects. */
  readonly askModel: (
    asked: {
      session: SessionRecord;
      context: readonly LogEvent[];
      listing: McpListing | undefined;
    },
    signal: AbortSignal,
  ) => Promise<ModelOutcome>;
}

interface ReplayRequest {
  readonly key: SessionKey;
  readonly params: SessionReplayParams;
}

/** A line of the report: one for each request that was asked again, and the summary. */
export type ReplayLine = Readonly<Record<string, unknown>>;

interface Plan {
  readonly session: SessionRecord;
  /** Requests that start from here on … */
  readonly from: number;
  /** … up to here. */
  readonly to: number;
  readonly requestsMax: number;
}

/**
 * Asks a model, another one or with another prompt or tools, what it would have answered at each request
 * that a session's log records, and compares. Each is asked with what the recorded model was asked with:
 * recorded answers and results stand, no tool is run, and nothing is written. The lines come as they are
 * made; ending the reading ends the asking.
 */
export async function replaySession(
  options: ReplayOptions,
  { key, params }: ReplayRequest,
  signal: AbortSignal,
): Promise<AsyncGenerator<ReplayLine>> {
  const recorded = await getSessionRecord(options.store.sessions, key);
  const current = SessionAgent.parse(recorded.agent);
  const agent = forkedSessionAgent(current, params.agent ?? {});
  const from = await seqOf(options.store, key, "from_event_id", params.from_event_id);
  const to = await seqOf(options.store, key, "to_event_id", params.to_event_id);
  if (from !== undefined && to !== undefined && from > to) {
    throw new InvalidRequestError("from_event_id: comes after to_event_id");
  }
  return replay(
    options,
    {
      session: { ...recorded, agent: { ...agent } },
      from: from ?? 0,
      to: to ?? recorded.last_seq,
      requestsMax: params.max_requests ?? REQUESTS_DEFAULT,
    },
    signal,
  );
}

async function* replay(
  options: ReplayOptions,
  { session, from, to, requestsMax }: Plan,
  signal: AbortSignal,
): AsyncGenerator<ReplayLine> {
  const tally = new Tally(session);
  for await (const request of requestsOf(options.store, session, to)) {
    if (request.seq < from) continue;
    if (signal.aborted) return;
    const stopped = tally.stopped(requestsMax);
    if (stopped !== undefined) {
      yield tally.summary(stopped);
      return;
    }
    const line = await asked(options, { session, request }, signal);
    if (signal.aborted) return;
    tally.add(line);
    yield line;
  }
  yield tally.summary(null);
}

interface AskedLine extends ReplayLine {
  readonly outcome: "compared" | "failed";
  readonly same?: boolean;
  readonly tool_calls?: { readonly same: boolean };
  readonly usage: { readonly recorded: ModelUsage | null; readonly replayed: ModelUsage | null };
}

async function asked(
  { askModel, clock }: ReplayOptions,
  { session, request }: { session: SessionRecord; request: RecordedRequest },
  signal: AbortSignal,
): Promise<AskedLine> {
  const begun = clock.now();
  const outcome = await askModel(
    { session, context: request.context, listing: request.listing },
    signal,
  );
  const latency_ms = { recorded: request.latencyMs, replayed: clock.now() - begun };
  const usage = { recorded: request.usage ?? null, replayed: outcome.usage ?? null };
  const common = {
    type: "replay.request",
    event_id: request.id,
    model: { recorded: request.model, replayed: session.agent.model.id },
  };
  if (outcome.type === "failure") {
    const { kind, message } = outcome;
    return { ...common, outcome: "failed", error: { kind, message }, usage, latency_ms };
  }
  const stop_reason = { recorded: request.stopReason, replayed: outcome.stop_reason };
  const comparison = compareResponses(request.blocks, outcome.blocks);
  return { ...common, outcome: "compared", ...comparison, stop_reason, usage, latency_ms };
}

/** What the whole of a replay comes to. */
class Tally {
  readonly #session: SessionRecord;
  readonly #counts = { asked: 0, same: 0, same_tool_calls: 0, failed: 0 };
  readonly #usage = { recorded: NO_TOKENS, replayed: NO_TOKENS };
  #failuresInARow = 0;

  constructor(session: SessionRecord) {
    this.#session = session;
  }

  add(line: AskedLine): void {
    this.#counts.asked += 1;
    if (line.outcome === "failed") this.#counts.failed += 1;
    if (line.same === true) this.#counts.same += 1;
    if (line.tool_calls?.same === true) this.#counts.same_tool_calls += 1;
    this.#failuresInARow = line.outcome === "failed" ? this.#failuresInARow + 1 : 0;
    this.#usage.recorded = plus(this.#usage.recorded, line.usage.recorded);
    this.#usage.replayed = plus(this.#usage.replayed, line.usage.replayed);
  }

  stopped(requestsMax: number): "max_requests" | "failures" | undefined {
    if (this.#failuresInARow >= FAILURES_MAX) return "failures";
    return this.#counts.asked >= requestsMax ? "max_requests" : undefined;
  }

  /** `stopped` says why requests were left out; null if none were. */
  summary(stopped: "max_requests" | "failures" | null): ReplayLine {
    const { id, agent } = this.#session;
    return {
      type: "replay.summary",
      session_id: id,
      model: agent.model.id,
      requests: { ...this.#counts },
      usage: { ...this.#usage },
      stopped,
    };
  }
}

const NO_TOKENS = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 };

function plus(sum: typeof NO_TOKENS, usage: ModelUsage | null): typeof NO_TOKENS {
  return {
    input_tokens: sum.input_tokens + (usage?.input_tokens ?? 0),
    output_tokens: sum.output_tokens + (usage?.output_tokens ?? 0),
    cache_read_input_tokens: sum.cache_read_input_tokens + (usage?.cache_read_input_tokens ?? 0),
  };
}

async function* requestsOf(
  { events }: Store,
  session: SessionRecord,
  to: number,
): AsyncGenerator<RecordedRequest> {
  const finder = new RequestFinder();
  const range = { types: REQUEST_TYPES, threadId: session.thread_id, limit: PAGE_EVENTS };
  for (let after = 0; ; ) {
    const page = await events.getEvents(keyOf(session), { ...range, after });
    for (const event of page) {
      if (event.type === "span.model_request_start" && event.seq > to) return;
      const request = finder.take(event);
      if (request !== undefined) yield request;
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

async function seqOf(
  { events }: Store,
  key: SessionKey,
  field: string,
  eventId: string | null | undefined,
): Promise<number | undefined> {
  if (eventId === undefined || eventId === null) return undefined;
  const seq = await events.findSeq(key, eventId);
  if (seq !== undefined) return seq;
  throw new NotFoundError(`${field}: session ${key.sessionId} has no event ${eventId} in its log`);
}
