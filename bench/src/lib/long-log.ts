import { type Drafting, draft } from "../../../packages/server/src/core/harness/drafting.ts";
import { DEFAULT_POLICIES } from "../../../packages/server/src/core/harness/policies.ts";
import { responseDrafts } from "../../../packages/server/src/core/harness/response.ts";
import { runningDrafts, stepDrafts } from "../../../packages/server/src/core/harness/steps.ts";
import type { ModelBlock } from "../../../packages/server/src/core/ports/model.ts";
import type { Claim } from "../../../packages/server/src/core/ports/sessions.ts";
import type { Store } from "../../../packages/server/src/core/ports/store.ts";
import { NO_PRICES } from "../../../packages/server/src/core/pricing/price-list.ts";
import { fold, foldDraft } from "../../../packages/server/src/core/session/fold.ts";
import type { EventDraft } from "../../../packages/server/src/core/session/log-event.ts";
import {
  FOLD_VERSION,
  NEW_SESSION,
  type SessionState,
} from "../../../packages/server/src/core/session/state.ts";
import type { OfferedTool } from "../../../packages/server/src/core/tools/offered-tools.ts";
import { newId } from "../../../packages/server/src/lib/new-id.ts";

const TURN_EVENTS = 14;
/** Turns since the context was compacted. */
const RECENT_TURNS = 3;
const APPEND_TURNS = 20;
const BASH: OfferedTool = {
  runBy: "hands",
  policy: "always_allow",
  definition: { name: "bash", description: "", input_schema: { type: "object" } },
};
const RESULT = "a line of output\n".repeat(20);

/**
 * Fills an empty session that the caller holds with a log of exactly `events` events, as the harness
 * would have written it: turns with one tool call each, the context compacted three turns before the
 * end, and the checkpoint one turn behind.
 */
export async function writeLog(store: Store, claim: Claim, events: number): Promise<void> {
  const session = await store.sessions.find(claim);
  if (session === undefined) throw new Error(`there is no session ${claim.sessionId}`);
  const drafting: Drafting = {
    threadId: session.thread_id,
    agentName: session.agent.name,
    model: session.agent.model,
    prices: NO_PRICES,
    usageOf: () => undefined,
    now: new Date().toISOString(),
    newId: () => newId("sevt"),
  };
  const turns = Math.floor((events - 1) / TURN_EVENTS);
  let state = NEW_SESSION;
  const append = async (drafts: readonly EventDraft[], isLast: boolean) => {
    const { seq } = state;
    const checkpoint = { fold: FOLD_VERSION, seq, state: JSON.stringify(state) };
    const request = { ...claim, drafts, ...(isLast && { checkpoint }) };
    state = fold(await store.write((tx) => tx.events.append(request)), state);
  };
  await append(padding(drafting, events - 1 - turns * TURN_EVENTS), false);
  let drafts: EventDraft[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const left = turns - turn;
    if (left === RECENT_TURNS) drafts.push(compaction(drafting, state.seq + drafts.length + 1));
    drafts.push(...turnDrafts(drafts.reduce(folded(drafting), state), drafting, session.hand_id));
    if (drafts.length < APPEND_TURNS * TURN_EVENTS && left > 2) continue;
    await append(drafts, left === 1);
    drafts = [];
  }
  await store.write((tx) => tx.queue.release({ ...claim, seenSeq: state.seq, wakeAt: null }));
  if (state.seq !== events) throw new Error(`the log has ${state.seq} events and not ${events}`);
}

function folded(drafting: Drafting) {
  return (state: SessionState, event: EventDraft) => foldDraft(state, event, drafting.now);
}

/** What makes the number of events even, at the beginning, where nobody looks. */
function padding(drafting: Drafting, count: number): readonly EventDraft[] {
  return Array.from({ length: count }, () =>
    draft(drafting, "session.updated", { public: { title: "A title" }, private: {} }),
  );
}

function compaction(drafting: Drafting, seq: number): EventDraft {
  const summary = [{ type: "text", text: "So far everything has gone well. ".repeat(20) }];
  const tokens = { tokens_before: 100_000, tokens_after: 250 };
  return draft(drafting, "agent.thread_context_compacted", {
    public: {},
    private: { how: "summary", summary, input: [], kept_from: seq, ...tokens },
  });
}

function turnDrafts(
  before: SessionState,
  drafting: Drafting,
  handId: string,
): readonly EventDraft[] {
  const content = [{ type: "text" as const, text: "Do the next step, and tell me how it went." }];
  const call: ModelBlock = {
    type: "tool_use",
    id: newId("toolu"),
    name: "bash",
    input: { command: "make next-step" },
  };
  const asked = response(drafting, call);
  const callId = asked.find(({ type }) => type === "agent.tool_use")?.id ?? "";
  const started = { call_id: callId, hand_id: handId, hands_boot: "boot_1" };
  const result = { tool_use_id: callId, content: [{ type: "text" as const, text: RESULT }] };
  const drafts = [
    ...runningDrafts(before, drafting),
    draft(drafting, "user.message", { public: { content }, private: {} }),
    ...asked,
    draft(drafting, "drover.call_started", { public: {}, private: started }),
    draft(drafting, "agent.tool_result", {
      public: result,
      private: { reason: "executed", hand_id: handId },
    }),
    ...response(drafting, { type: "text", text: "It went well. ".repeat(10) }),
  ];
  const after = drafts.reduce(folded(drafting), before);
  return [...drafts, ...stepDrafts({ type: "end_turn" }, after, [], drafting)];
}

/** The start of a request and what came of it. */
function response(drafting: Drafting, block: ModelBlock): readonly EventDraft[] {
  const requestId = drafting.newId();
  const body = { public: {}, private: { model: drafting.model.id, attempt: 1 } };
  const usage = { input_tokens: 1_000, output_tokens: 50 };
  return [
    draft(drafting, "span.model_request_start", body, requestId),
    ...responseDrafts(
      {
        type: "response",
        blocks: [block],
        stop_reason: block.type === "tool_use" ? "tool_use" : "end_turn",
        usage,
        request_id: undefined,
      },
      {
        requestId,
        previewId: () => undefined,
        toolOf: () => BASH,
        goOns: {},
        policies: DEFAULT_POLICIES,
      },
      drafting,
    ),
  ];
}
