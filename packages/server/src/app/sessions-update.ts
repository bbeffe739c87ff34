import { SessionAgent, type SessionUpdateParams } from "@drover/api";
import { updatedSessionAgent } from "../core/agents/session-agent.ts";
import { InvalidRequestError, NotImplementedError } from "../core/errors.ts";
import { patchedMetadata } from "../core/metadata.ts";
import type { SessionKey } from "../core/ports/event-log.ts";
import type { SessionPatch, SessionRecord } from "../core/ports/sessions.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import type { EventBodies } from "../core/session/log-event.ts";
import { unsupportedAgentParts } from "../core/sessions/unsupported.ts";
import { newId } from "../lib/new-id.ts";
import { isBusy } from "./sessions.ts";
import { assertBudgetable, assertNewBudget } from "./sessions-budget.ts";
import { existing, toSession, type Wire } from "./sessions-wire.ts";

export interface UpdateRequest {
  readonly params: SessionUpdateParams;
  readonly prices: PriceList;
}

/**
 * Changes what may change of a session (wire §5.3). What did change is told by one `session.updated`
 * with exactly the changed fields; an update that changes nothing appends nothing.
 */
export async function updateSession(
  tx: StoreTransaction,
  key: SessionKey,
  { params, prices }: UpdateRequest,
): Promise<Wire> {
  const session = existing(await tx.sessions.lock(key), key);
  await assertAllowed(tx, session, { params, prices });
  const { patch, shown } = changesOf(session, params);
  const { agent = session.agent, budget = session.budget } = patch;
  if (patch.agent !== undefined && budget !== null) assertBudgetable(agent, prices);
  if (Object.keys(patch).length === 0) return toSession(session, tx.now);
  await tx.sessions.update(key, { ...patch, updated_at: tx.now });
  await tx.events.appendReceipts(key, [
    {
      id: newId("sevt"),
      type: "session.updated",
      thread_id: session.thread_id,
      cross_posted: false,
      public: shown,
      private: {},
    },
  ]);
  return toSession(existing(await tx.sessions.find(key), key), tx.now);
}

async function assertAllowed(
  tx: StoreTransaction,
  session: SessionRecord,
  { params, prices }: UpdateRequest,
): Promise<void> {
  if (params.vault_ids !== undefined) {
    throw new InvalidRequestError("vault_ids: cannot be changed after a session was created");
  }
  if (session.archived_at !== null) {
    throw new InvalidRequestError(`session ${session.id} is archived and cannot be changed`);
  }
  if (params.budget !== undefined && params.budget !== null) {
    assertNewBudget(session, params.budget, { prices, now: tx.now });
  }
  if (params.agent !== undefined && (await isBusy(tx, session))) {
    throw new InvalidRequestError("agent: cannot be changed while the session is running");
  }
}

/** What is stored anew, and what of it clients are told. */
function changesOf(
  session: SessionRecord,
  params: SessionUpdateParams,
): { patch: SessionPatch; shown: EventBodies["session.updated"]["public"] } {
  const title = params.title === undefined ? session.title : params.title;
  const metadata = patchedMetadata(session.metadata, params.metadata, { emptyDeletes: false });
  const hasTitle = title !== session.title;
  const hasMetadata = !isSame(metadata, session.metadata);
  const agent = changedAgent(session, params.agent);
  const budget = params.budget === undefined ? session.budget : params.budget;
  const hasBudget = !isSame(budget, session.budget);
  return {
    patch: {
      ...(hasTitle && { title }),
      ...(hasMetadata && { metadata }),
      ...(agent !== undefined && { agent: { ...agent } }),
      ...(hasBudget && { budget }),
      // What the budget held up goes on: nobody is to take the moment until then for the turn's end.
      ...(hasBudget && session.totals.isHeld === true && { status: "running" }),
    },
    shown: {
      ...(agent !== undefined && { agent }),
      ...(hasBudget && { budget }),
      // A bag that was cleared is left out, as the contract has it.
      ...(hasMetadata && Object.keys(metadata).length > 0 && { metadata }),
      ...(hasTitle && { title }),
    },
  };
}

function changedAgent(
  session: SessionRecord,
  update: SessionUpdateParams["agent"],
): SessionAgent | undefined {
  if (update === undefined) return undefined;
  const current = SessionAgent.parse(session.agent);
  const agent = updatedSessionAgent(current, update);
  const unsupported = unsupportedAgentParts(agent);
  if (unsupported.length > 0) {
    throw new NotImplementedError(`not implemented in this version: ${unsupported.join(", ")}`);
  }
  return isSame(agent, current) ? undefined : agent;
}

function isSame(left: object | null, right: object | null): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
