import { CONTEXT_TYPES } from "../core/harness/context.ts";
import type { Checkpoint, EventReader, SessionKey } from "../core/ports/event-log.ts";
import type { McpListing } from "../core/ports/mcp-servers.ts";
import type { SessionReader, SessionRecord } from "../core/ports/sessions.ts";
import { isToolUse, type ToolUse } from "../core/session/called-tool.ts";
import { stateOf } from "../core/session/checkpoint.ts";
import { fold } from "../core/session/fold.ts";
import type { EventType, HeldResponse, InboxEvent, LogEvent } from "../core/session/log-event.ts";
import { FOLD_VERSION, type SessionState, threadState } from "../core/session/state.ts";

const PAGE_EVENTS = 1_000;
/** A checkpoint is worth its bytes once so many events would have to be folded without it. */
const CHECKPOINT_EVENTS = 20;

const IN_CONTEXT: ReadonlySet<EventType> = new Set(CONTEXT_TYPES);

interface ViewStore {
  readonly events: EventReader;
  readonly sessions: SessionReader;
}

/**
 * What one driver knows of its session: the control state, the events its context is built from and
 * the waiting input. All of it comes from the store and can be thrown away at any time.
 */
export class SessionView {
  readonly key: SessionKey;
  readonly #store: ViewStore;
  #session: SessionRecord;
  #state: SessionState;
  #context: LogEvent[];
  #inbox: readonly InboxEvent[];
  #checkpointSeq: number;
  #epoch = 0;
  #held: HeldResponse | undefined;
  #listing: McpListing | undefined;

  private constructor(
    store: ViewStore,
    session: SessionRecord,
    checkpoint: Checkpoint | undefined,
  ) {
    this.key = { workspaceId: session.workspace_id, sessionId: session.id };
    this.#store = store;
    this.#session = session;
    this.#state = stateOf(checkpoint);
    this.#checkpointSeq = this.#state.seq;
    this.#context = [];
    this.#inbox = [];
  }

  /** Undefined if the session is gone. */
  static async load(store: ViewStore, key: SessionKey): Promise<SessionView | undefined> {
    const session = await store.sessions.find(key);
    if (session === undefined || session.deleted_at !== null) return undefined;
    const view = new SessionView(store, session, await store.sessions.findCheckpoint(key));
    await view.#loadState();
    // Once more: an update since is in the state already, and would not be looked for again.
    await view.#loadSession();
    await view.#loadContext();
    await view.#loadReferences();
    view.#inbox = await store.events.getInbox(key);
    return view;
  }

  get session(): SessionRecord {
    return this.#session;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The events that the context is built from, in order: the last compaction, what it kept, what came since. */
  get context(): readonly LogEvent[] {
    return this.#context;
  }

  get inbox(): readonly InboxEvent[] {
    return this.#inbox;
  }

  /** The newest lease that anything was appended under, of what came after this was loaded; 0 for none. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Takes in what the driver has just had committed, and anything that came between. */
  async committed(events: readonly LogEvent[]): Promise<void> {
    const [first] = events;
    if (first !== undefined && first.seq > this.#state.seq + 1) {
      const range = { after: this.#state.seq, before: first.seq, limit: PAGE_EVENTS };
      await this.#takeReceipts(await this.#store.events.getEvents(this.key, range));
    }
    this.#take(events);
    const taken = new Set(events.map((event) => event.id));
    this.#inbox = this.#inbox.filter((event) => !taken.has(event.id));
  }

  /** Reads what others have put there since: receipts, input, and what is attached to the session. */
  async refresh(): Promise<void> {
    const receipts = await this.#read({ after: this.#state.seq });
    for (const page of receipts) this.#take(page);
    await this.#loadSession();
    this.#inbox = await this.#store.events.getInbox(this.key);
  }

  /** A checkpoint of the state as it is, if enough has happened since the last one. */
  checkpoint(): Checkpoint | undefined {
    const { seq } = this.#state;
    if (seq - this.#checkpointSeq < CHECKPOINT_EVENTS) return undefined;
    this.#checkpointSeq = seq;
    return { fold: FOLD_VERSION, seq, state: JSON.stringify(this.#state) };
  }

  /** The committed tool use of a call. */
  findCall(callId: string): ToolUse | undefined {
    const event = this.#context.findLast(({ id }) => id === callId);
    return event !== undefined && isToolUse(event) ? event : undefined;
  }

  /** What the agent's MCP servers have, as it was last listed; undefined before that. */
  get listing(): McpListing | undefined {
    return this.#listing;
  }

  /** The response that is held until its calls are judged. */
  get held(): HeldResponse {
    if (this.#held === undefined) throw new Error("no response is held");
    return this.#held;
  }

  /** What others appended: after an update the session is another one, with other tools perhaps. */
  async #takeReceipts(events: readonly LogEvent[]): Promise<void> {
    this.#take(events);
    if (events.some((event) => event.type === "session.updated")) await this.#loadSession();
  }

  async #loadSession(): Promise<void> {
    this.#session = (await this.#store.sessions.find(this.key)) ?? this.#session;
  }

  async #loadState(): Promise<void> {
    for (const page of await this.#read({ after: this.#state.seq })) {
      this.#state = fold(page, this.#state);
    }
  }

  async #loadContext(): Promise<void> {
    const { context } = threadState(this.#state, this.#session.thread_id);
    const pages = await this.#read({
      after: context.from - 1,
      // What comes later is taken in with the state, and must not be here twice.
      before: this.#state.seq + 1,
      types: CONTEXT_TYPES,
      threadId: this.#session.thread_id,
    });
    this.#context = pages.flat();
  }

  /** What the state has no more of than its place in the log. */
  async #loadReferences(): Promise<void> {
    const { request, mcp } = threadState(this.#state, this.#session.thread_id);
    for (const seq of [request?.held?.seq, mcp?.seq]) {
      if (seq === undefined) continue;
      const range = { after: seq - 1, before: seq + 1, limit: 1 };
      this.#takeReferences(await this.#store.events.getEvents(this.key, range));
    }
  }

  #takeReferences(events: readonly LogEvent[]): void {
    for (const event of events) {
      if (event.type === "drover.response_held") this.#held = event.private;
      if (event.type === "span.model_request_end") this.#held = undefined;
      if (event.type === "drover.mcp_tools_listed") this.#listing = event.private;
    }
  }

  /** Bounded by `last_seq` of the log: each page moves the position on. */
  async #read(range: {
    after: number;
    before?: number;
    types?: readonly EventType[];
    threadId?: string;
  }): Promise<readonly (readonly LogEvent[])[]> {
    const pages: (readonly LogEvent[])[] = [];
    for (let after = range.after; ; ) {
      const page = await this.#store.events.getEvents(this.key, {
        ...range,
        after: Math.max(after, 0),
        limit: PAGE_EVENTS,
      });
      const last = page.at(-1);
      if (last === undefined) return pages;
      pages.push(page);
      after = last.seq;
    }
  }

  #take(events: readonly LogEvent[]): void {
    this.#state = fold(events, this.#state);
    this.#takeReferences(events);
    for (const event of events) {
      this.#epoch = Math.max(this.#epoch, event.epoch);
      if (!IN_CONTEXT.has(event.type) || event.thread_id !== this.#session.thread_id) continue;
      if (event.type === "agent.thread_context_compacted") {
        const { kept_from } = event.private;
        this.#context = this.#context.filter(({ seq }) => seq >= kept_from);
      }
      this.#context.push(event);
    }
  }
}
