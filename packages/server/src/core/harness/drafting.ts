import type { SessionErrorObject } from "@drover/api";
import type { ModelUsage } from "../ports/model.ts";
import type { PricedModel, PriceList } from "../pricing/price-list.ts";
import { shownUsage } from "../session/account.ts";
import type { EventBodies, EventDraft, EventType, InboxEvent } from "../session/log-event.ts";
import type { SessionState } from "../session/state.ts";

/** What drafts are made with: everything that is not decided but given. */
export interface Drafting {
  readonly threadId: string;
  readonly agentName: string;
  readonly model: PricedModel;
  readonly prices: PriceList;
  /** What an open model request has reported so far, as far as this process knows. */
  readonly usageOf: (requestId: string) => ModelUsage | undefined;
  /** RFC 3339 with milliseconds. */
  readonly now: string;
  /** A new event id. */
  readonly newId: () => string;
}

/** A draft of the thread's own; `given` keeps an id that was handed out before. */
export function draft<T extends EventType>(
  drafting: Drafting,
  type: T,
  body: EventBodies[T],
  given?: string,
): EventDraft {
  // The pair of type and body is checked by the signature; the union cannot follow a generic.
  return {
    id: given ?? drafting.newId(),
    type,
    thread_id: drafting.threadId,
    cross_posted: false,
    ...body,
  } as EventDraft;
}

/** A draft of an event that shows nothing but its type. */
export function bare(
  drafting: Drafting,
  type: "session.status_rescheduled" | "session.status_terminated" | "session.deleted",
): EventDraft {
  return draft(drafting, type, { public: {}, private: {} });
}

/** The session runs from here on, at the price that an hour has now. */
export function statusRunning(drafting: Drafting): EventDraft {
  return draft(drafting, "session.status_running", {
    public: {},
    private: { hour_price: String(drafting.prices.hour) },
  });
}

export function threadStatus(
  drafting: Drafting,
  type: "session.thread_status_running" | "session.thread_status_rescheduled",
): EventDraft {
  const body = { session_thread_id: drafting.threadId, agent_name: drafting.agentName };
  return draft(drafting, type, { public: body, private: {} });
}

/** The input as it goes into the log: same id, now with a place. */
export function taken(event: InboxEvent): EventDraft {
  const { arrival: _arrival, accepted_at: _acceptedAt, ...rest } = event;
  return rest;
}

export function sessionError(
  drafting: Drafting,
  error: SessionErrorObject,
  cause?: string,
): EventDraft {
  return draft(drafting, "session.error", {
    public: { error },
    private: cause === undefined ? {} : { cause },
  });
}

/** Usage so far, active seconds up to now: what `session.usage` shows before every idle. */
export function usageDraft(drafting: Drafting, state: SessionState): EventDraft {
  return draft(drafting, "session.usage", {
    public: { usage: shownUsage(state.account, drafting.now), budget: state.budget },
    private: {},
  });
}
