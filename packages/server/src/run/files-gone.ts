import type { MissingCalls } from "../core/harness/files-gone.ts";
import type { EventReader, SessionKey } from "../core/ports/event-log.ts";
import type { HandRecord } from "../core/ports/hand-records.ts";
import { calledTool, isToolUse, TOOL_USE_TYPES } from "../core/session/called-tool.ts";
import type { LogEvent } from "../core/session/log-event.ts";
import { isSandboxTool } from "../core/sessions/workspace-at.ts";

const TYPES = [...TOOL_USE_TYPES, "drover.call_started", "drover.hand_taken"] as const;
const PAGE_EVENTS = 200;
/** So far back it is looked for what may be missing; what is older is summed up. */
const PAGES_MAX = 10;

/**
 * Which calls' changes may be missing when a sandbox's files begin anew from less than they were. `open` are
 * calls that have no answer, which are not among them.
 */
export async function missingCalls(
  events: EventReader,
  key: SessionKey,
  { hand, open }: { hand: HandRecord; open: ReadonlySet<string> },
): Promise<MissingCalls> {
  const since = hand.checkpoint?.call_id ?? null;
  const missing = await callsSince(events, key, { handId: hand.hand_id, since });
  return { ...missing, calls: missing.calls.filter(({ id }) => !open.has(id)) };
}

/** The calls in the hand's sandbox after one of them, or all, in the order in which they were sent. */
async function callsSince(
  events: EventReader,
  key: SessionKey,
  place: { handId: string; since: string | null },
): Promise<MissingCalls> {
  const trace = new CallTrace(place);
  let before: number | undefined;
  for (let pages = 0; pages < PAGES_MAX && !trace.isComplete; pages += 1) {
    const range = { types: TYPES, order: "desc", limit: PAGE_EVENTS } as const;
    const below = before === undefined ? {} : { before };
    const page = await events.getEvents(key, { ...range, ...below });
    trace.take(page);
    before = page.at(-1)?.seq;
    if (before === undefined) return trace.missing(true);
  }
  return trace.missing(trace.isComplete);
}

/** Goes through a log from its end. A call's tool is named before the call is sent, so further up. */
class CallTrace {
  readonly #place: { readonly handId: string; readonly since: string | null };
  readonly #sent: string[] = [];
  readonly #names = new Map<string, string>();
  #end: "call" | "taken" | undefined;

  constructor(place: { handId: string; since: string | null }) {
    this.#place = place;
  }

  get isComplete(): boolean {
    return this.#end !== undefined && this.#sent.every((id) => this.#names.has(id));
  }

  take(page: readonly LogEvent[]): void {
    for (const event of page) {
      if (isToolUse(event)) this.#names.set(event.id, calledTool(event));
      else if (this.#end === undefined) this.#takePlace(event);
    }
  }

  /** What ran before the session had the hand is in another one's log. */
  missing(isRead: boolean): MissingCalls {
    const calls = this.#sent
      .map((id) => ({ id, name: this.#names.get(id) ?? "a call" }))
      .filter(({ name }) => isSandboxTool(name))
      .reverse();
    return { calls, isWhole: isRead && this.#end !== "taken" };
  }

  #takePlace(event: LogEvent): void {
    const { handId, since } = this.#place;
    if (event.type === "drover.hand_taken") this.#end = "taken";
    if (event.type !== "drover.call_started") return;
    const { call_id: id, hand_id } = event.private;
    if (id === since) this.#end = "call";
    else if (hand_id === handId) this.#sent.push(id);
  }
}
