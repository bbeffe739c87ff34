import type { Budget, ClientEventParams } from "@drover/api";
import { assertNewBudget, assertWithinBudget, isHeld } from "../app/sessions-budget.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { withinBudget } from "../core/harness/budget-gate.ts";
import { type Drafting, draft } from "../core/harness/drafting.ts";
import { deadRequestDrafts, failureDrafts } from "../core/harness/failure.ts";
import { nextActions } from "../core/harness/next-actions.ts";
import { waitingIds } from "../core/harness/open-calls.ts";
import { DEFAULT_POLICIES } from "../core/harness/policies.ts";
import { responseDrafts } from "../core/harness/response.ts";
import { callResult } from "../core/harness/results.ts";
import { runningDrafts } from "../core/harness/steps.ts";
import type { ModelBlock, ModelUsage } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import { budgetSet } from "../core/session/budget.ts";
import { foldEvent } from "../core/session/fold.ts";
import type { EventDraft, InboxEvent, LogEvent } from "../core/session/log-event.ts";
import { NEW_SESSION, type SessionState, threadState } from "../core/session/state.ts";
import { decide, isContested } from "../run/decide.ts";
import type { Effect } from "../run/effects.ts";
import type { Settlement } from "../run/settlement.ts";
import { THREAD, testTool } from "./logs.ts";
import { testSession } from "./session.ts";

/** How a model request ends. */
export type Reply =
  | { readonly type: "text" | "calls"; readonly usage: ModelUsage }
  | { readonly type: "failure"; readonly usage?: ModelUsage | undefined };

/** What the client does. */
export type ClientAct =
  | { readonly type: "message" | "interrupt" | "remove" | "confirm" }
  /** To so many cents above, or below, what was consumed. */
  | { readonly type: "budget"; readonly cents: number };

const CALLS: readonly ModelBlock[] = ["read", "read", "bash", "ask_bash"].map((name, index) => ({
  type: "tool_use",
  id: `toolu_${index}`,
  name,
  input: {},
}));

/**
 * A session with everything that decides about it and nothing that does anything: a log in memory, what
 * the harness and the API decide, and a world that answers when and how a test likes.
 */
export class SimulatedSession {
  readonly log: LogEvent[] = [];
  /** Ids of the messages that were accepted. */
  readonly accepted: string[] = [];
  #state: SessionState = NEW_SESSION;
  #inbox: InboxEvent[] = [];
  #row: SessionRecord;
  #nowMs = Date.UTC(2026, 0, 1);
  #ids = 0;
  readonly #prices: PriceList;

  constructor(budget: Budget, prices: PriceList) {
    this.#prices = prices;
    this.#row = { ...testSession(), thread_id: THREAD, budget };
    this.#commit([budgetSet(this.#newId(), THREAD, budget)]);
  }

  get row(): SessionRecord {
    return this.#row;
  }

  get inbox(): readonly InboxEvent[] {
    return this.#inbox;
  }

  /** RFC 3339. */
  get now(): string {
    return new Date(this.#nowMs).toISOString();
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  /** What the driver has in flight, or would. */
  get effects(): readonly Effect[] {
    const place = { threadId: THREAD, inbox: this.#inbox, now: this.now };
    const wanted = nextActions(this.#state, THREAD, this.#inbox, DEFAULT_POLICIES);
    const actions = withinBudget(wanted, this.#state, place);
    return actions.filter((action): action is Effect => action.kind !== "append");
  }

  /** The driver appends what follows, with `acts` committed between its decision and its append. */
  drive(settlements: readonly Settlement[] = [], acts: readonly ClientAct[] = []): boolean {
    const { drafts, status, totals } = decide({
      state: this.#state,
      inbox: this.#inbox,
      drafting: this.#drafting(),
      policies: DEFAULT_POLICIES,
      limitsOf: () => undefined,
      hasMcpServers: false,
      settlements,
    });
    const mustBeLast = isContested(this.#state, drafts);
    const count = this.log.length;
    for (const act of acts) this.act(act);
    if (mustBeLast && this.log.length > count) return this.drive(settlements);
    if (drafts.length === 0) return false;
    this.#commit(drafts);
    this.#row = { ...this.#row, status, totals };
    return true;
  }

  /** One of the effects ends. */
  settle(effect: Effect, reply: Reply, acts: readonly ClientAct[] = []): void {
    if (effect.kind === "wait") this.#nowMs = Math.max(this.#nowMs, effect.atMs);
    this.drive([{ drafts: (state, drafting) => settled(effect, reply, state, drafting) }], acts);
  }

  /** Another process goes on; what the model was asked is lost. */
  die(): void {
    this.drive([{ drafts: deadRequestDrafts }]);
  }

  /** False if the API refuses it. */
  act(act: ClientAct): boolean {
    try {
      this.#act(act);
      return true;
    } catch (error) {
      if (error instanceof InvalidRequestError) return false;
      throw error;
    }
  }

  #act(act: ClientAct): void {
    if (act.type === "message") {
      this.#send({ type: "user.message", content: [{ type: "text", text: "go on" }] });
    } else if (act.type === "interrupt") this.#send({ type: "user.interrupt" });
    else if (act.type === "confirm") this.#confirm();
    else if (act.type === "budget") this.#setBudget(this.#budgetOf(act.cents));
    else this.#setBudget(null);
  }

  #confirm(): void {
    const [id] = waitingIds(threadState(this.#state, THREAD));
    if (id === undefined) return;
    const type = "user.tool_confirmation";
    const body = { tool_use_id: id, result: "allow" } as const;
    assertWithinBudget(this.#row, [{ type, ...body }], this.now);
    this.#commit([draft(this.#drafting(), type, { public: body, private: {} })]);
  }

  #budgetOf(cents: number): Budget {
    const consumedCents = Number(BigInt(this.#row.totals.spending?.cost ?? 0) / 10n ** 10n);
    const amount = String(Math.max(1, consumedCents + cents));
    return { type: "limit", max_list_cost: { amount, currency: "USD" } };
  }

  #send(event: Extract<ClientEventParams, { type: "user.message" | "user.interrupt" }>): void {
    assertWithinBudget(this.#row, [event], this.now);
    const id = this.#newId();
    const base = { id, thread_id: THREAD, cross_posted: false, private: {} };
    const place = { arrival: this.#ids, accepted_at: this.now };
    if (event.type === "user.interrupt") {
      const interrupt = { ...base, type: event.type, public: {} };
      if (isHeld(this.#row, this.now)) this.#commit([interrupt]);
      else this.#inbox.push({ ...interrupt, ...place });
      return;
    }
    this.accepted.push(id);
    const { content } = event;
    this.#inbox.push({ ...base, ...place, type: event.type, public: { content } });
  }

  #setBudget(budget: Budget | null): void {
    if (budget !== null) {
      assertNewBudget(this.#row, budget, { prices: this.#prices, now: this.now });
    }
    if (budget === null && this.#row.budget === null) return;
    this.#row = { ...this.#row, budget };
    const changed = draft(this.#drafting(), "session.updated", { public: { budget }, private: {} });
    this.#commit([changed]);
  }

  #commit(drafts: readonly EventDraft[]): void {
    for (const one of drafts) {
      const seq = this.log.length + 1;
      const event: LogEvent = { ...one, seq, v: 1, epoch: 1, processed_at: this.now };
      this.log.push(event);
      this.#state = foldEvent(this.#state, event);
      this.#inbox = this.#inbox.filter(({ id }) => id !== one.id);
    }
  }

  #drafting(): Drafting {
    return {
      threadId: THREAD,
      agentName: "tester",
      model: { id: "test-model" },
      prices: this.#prices,
      usageOf: () => undefined,
      now: this.now,
      newId: () => this.#newId(),
    };
  }

  #newId(): string {
    this.#ids += 1;
    return `sevt_${this.#ids}`;
  }
}

function settled(
  effect: Effect,
  reply: Reply,
  state: SessionState,
  drafting: Drafting,
): readonly EventDraft[] {
  switch (effect.kind) {
    case "call_model":
      return replied(effect.request.id, reply, state, drafting);
    case "start_call": {
      const where = { call_id: effect.callId, hand_id: "hand_1", hands_boot: "boot_1" };
      return [draft(drafting, "drover.call_started", { public: {}, private: where })];
    }
    case "await_call":
    case "cancel_call": {
      const content = [{ type: "text" as const, text: "done" }];
      const cancelled = effect.kind === "cancel_call";
      const { callId: id, handId } = effect;
      const call = { id, kind: "hands" as const, handId, name: "bash" };
      const outcome = { type: "result", content, is_error: false, cancelled, outputs: [] } as const;
      return [callResult(drafting, call, outcome)];
    }
    case "wait":
      return runningDrafts(state, drafting);
    default:
      throw new Error(`nobody simulates ${effect.kind}`);
  }
}

function replied(
  requestId: string,
  reply: Reply,
  state: SessionState,
  drafting: Drafting,
): readonly EventDraft[] {
  if (reply.type === "failure") {
    const { usage } = reply;
    const failure = {
      type: "failure",
      kind: "overloaded",
      retryable: true,
      message: "no",
    } as const;
    const outcome = { ...failure, ...(usage !== undefined && { usage }) };
    const failed = { requestId, state, context: [], systemTurns: "turn", random: 0 } as const;
    return failureDrafts(outcome, failed, DEFAULT_POLICIES, drafting);
  }
  const usesTools = reply.type === "calls";
  return responseDrafts(
    {
      type: "response",
      blocks: usesTools ? CALLS : [{ type: "text", text: "Done." }],
      stop_reason: usesTools ? "tool_use" : "end_turn",
      usage: reply.usage,
      request_id: undefined,
    },
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
