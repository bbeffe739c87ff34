import { type Drafting, draft, statusRunning, threadStatus } from "../core/harness/drafting.ts";
import { DEFAULT_POLICIES } from "../core/harness/policies.ts";
import { requestEnded } from "../core/harness/request-end.ts";
import { responseDrafts } from "../core/harness/response.ts";
import type { ModelBlock } from "../core/ports/model.ts";
import { NO_PRICES } from "../core/pricing/price-list.ts";
import type { Compaction, EventDraft, InboxEvent, LogEvent } from "../core/session/log-event.ts";
import type { OfferedTool } from "../core/tools/offered-tools.ts";

/** Logs made by hand, with ids that count, for tests of what is pure. */
export const THREAD = "sthr_1";

export function testDrafting(now = "2026-01-01T00:00:00.000Z"): Drafting {
  let count = 0;
  return {
    threadId: THREAD,
    agentName: "tester",
    model: { id: "test-model" },
    prices: NO_PRICES,
    usageOf: () => undefined,
    now,
    newId: () => {
      count += 1;
      return `sevt_${count}`;
    },
  };
}

/** The drafts as a store would commit them, one second apart. */
export function committed(drafts: readonly EventDraft[], afterSeq = 0): readonly LogEvent[] {
  return drafts.map((event, index) => ({
    ...event,
    seq: afterSeq + index + 1,
    v: 1,
    epoch: 1,
    processed_at: new Date(Date.UTC(2026, 0, 1, 0, 0, afterSeq + index)).toISOString(),
  }));
}

export function userMessage(drafting: Drafting, text: string): EventDraft {
  const content = [{ type: "text" as const, text }];
  return draft(drafting, "user.message", { public: { content }, private: {} });
}

export function waiting(event: EventDraft, arrival: number): InboxEvent {
  if (event.type !== "user.message" && event.type !== "user.interrupt") {
    throw new Error(`${event.type} does not wait in an inbox`);
  }
  return { ...event, arrival, accepted_at: "2026-01-01T00:00:00.000Z" };
}

export function interrupt(drafting: Drafting): EventDraft {
  return draft(drafting, "user.interrupt", { public: {}, private: {} });
}

/** A turn up to its first request, which is open. */
export function startedTurn(drafting: Drafting, text = "hello"): readonly EventDraft[] {
  return [
    statusRunning(drafting),
    threadStatus(drafting, "session.thread_status_running"),
    userMessage(drafting, text),
    draft(
      drafting,
      "span.model_request_start",
      { public: {}, private: { model: "test-model", attempt: 1 } },
      "start_1",
    ),
  ];
}

export function responded(
  drafting: Drafting,
  blocks: readonly ModelBlock[],
  requestId = "start_1",
  stopReason = "end_turn",
): readonly EventDraft[] {
  return responseDrafts(
    { type: "response", blocks, stop_reason: stopReason, usage: {}, request_id: undefined },
    {
      requestId,
      previewId: () => undefined,
      toolOf: testTool,
      goOns: {},
      policies: DEFAULT_POLICIES,
    },
    drafting,
  );
}

const POLICIES = [
  ["ask_", "always_ask"],
  ["auto_", "auto"],
] as const;

/** Any tool there is but `forbidden`; a name that begins with `ask_`, `auto_` or `client_` says how it is run. */
export function testTool(name: string): OfferedTool | undefined {
  if (name === "forbidden") return undefined;
  const definition = {
    name,
    description: `the tool ${name}`,
    input_schema: { type: "object" as const, additionalProperties: true },
  };
  if (name.startsWith("client_")) return { runBy: "client", definition };
  const policy = POLICIES.find(([prefix]) => name.startsWith(prefix))?.[1] ?? "always_allow";
  return { runBy: "hands", policy, definition };
}

/** A compaction of a whole log, with what is given instead. */
export function compactionBody(given: Partial<Compaction>): Compaction {
  const summary = [text("a summary")];
  const usual = { how: "summary", summary, input: [], kept_from: 1 } as const;
  return { ...usual, tokens_before: 100, tokens_after: 10, ...given };
}

export function requestLost(drafting: Drafting, requestId = "start_1"): EventDraft {
  return requestEnded(drafting, requestId, { outcome: "lost" });
}

export const text = (value: string): ModelBlock => ({ type: "text", text: value });

export const toolUse = (id: string, name = "bash"): ModelBlock => ({
  type: "tool_use",
  id,
  name,
  input: { command: `echo ${id}` },
});

export const thinking = (value: string): ModelBlock => ({
  type: "thinking",
  thinking: value,
  signature: `signed ${value}`,
});
