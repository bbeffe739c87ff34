import { type Drafting, draft, sessionError, taken } from "../core/harness/drafting.ts";
import type { Claim } from "../core/ports/sessions.ts";
import type { DriveDeps } from "./deps.ts";

const ENDING = { stop_reason: { type: "retries_exhausted" as const }, stop_details: null };

/**
 * The last resort for a session whose state cannot even be made out: shows the error and idle without
 * deciding anything, so that no client waits for ever. What is open stays open in the log; the context
 * copes with that.
 */
export async function showFailure(claim: Claim, deps: DriveDeps): Promise<void> {
  const { workspaceId, sessionId, epoch } = claim;
  const session = await deps.store.sessions.find(claim);
  if (session === undefined || session.deleted_at !== null) return;
  const drafting: Drafting = {
    threadId: session.thread_id,
    agentName: session.agent.name,
    model: session.agent.model,
    prices: deps.prices,
    usageOf: () => undefined,
    now: new Date(deps.clock.now()).toISOString(),
    newId: () => deps.newId("sevt"),
  };
  const names = { session_thread_id: session.thread_id, agent_name: session.agent.name };
  // The input is in the log then, so that the session is not due again before there is more of it.
  const input = await deps.store.events.getInbox(claim);
  const usage = { usage: session.totals.usage, budget: session.budget };
  const drafts = [
    ...input.map(taken),
    sessionError(drafting, {
      type: "unknown_error",
      message: "An internal error keeps this session from going on.",
      retry_status: { type: "exhausted" },
    }),
    draft(drafting, "session.thread_status_idle", { public: { ...names, ...ENDING }, private: {} }),
    draft(drafting, "session.usage", { public: usage, private: {} }),
    draft(drafting, "session.status_idle", { public: ENDING, private: {} }),
  ];
  // Its turn is over, also one that was held by a budget.
  const totals = { ...session.totals, isHeld: false };
  await deps.store.write((tx) =>
    tx.events.append({ workspaceId, sessionId, epoch, drafts, status: "idle", totals }),
  );
}
