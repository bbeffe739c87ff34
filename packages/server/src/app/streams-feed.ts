import type { Announcement } from "../core/ports/announcements.ts";
import type { EventRange, SessionKey } from "../core/ports/event-log.ts";
import type { Store } from "../core/ports/store.ts";
import type { InboxEvent, LogEvent } from "../core/session/log-event.ts";
import { toWire } from "../core/session/wire.ts";
import type { StreamFrame } from "./streams-frame.ts";
import type { PreviewBuffer, PreviewType } from "./streams-previews.ts";
import type { SharedReads } from "./streams-reads.ts";

/** Events read at a time, at most. */
const SLICE_MAX = 64;
/** Characters given out at a time; what was read beyond is dropped and read again later. */
const PULL_SIZE = 64 * 1024;

const INPUT_TYPES: ReadonlySet<string> = new Set([
  "user.message",
  "user.interrupt",
  "system.message",
]);
const PREVIEWED_TYPES: ReadonlySet<string> = new Set<PreviewType>([
  "agent.message",
  "agent.thinking",
]);

export interface FeedDeps {
  readonly store: Store;
  readonly reads: SharedReads;
  /** Called before input is shown that came while the reader was attached, with its time. */
  readonly attend: (time: string) => Promise<void>;
}

export interface FeedStart {
  readonly key: SessionKey;
  /** A thread's own stream; undefined for the session's. */
  readonly threadId: string | undefined;
  /** Whose previews are shown: those of other threads never are. */
  readonly previewThreadId: string;
  /** Events after this one are shown. */
  readonly after: number;
  /** The newest event when the reader attached. */
  readonly attachedAt: number;
  /** What waited in the inbox then: only its committed form is shown. */
  readonly inbox: readonly InboxEvent[];
}

/**
 * One reader's place in a session. It holds a position, not a queue: committed events are read from
 * the log when there is room for them, however slow the reader.
 */
export class SessionFeed {
  readonly #store: Store;
  readonly #reads: SharedReads;
  readonly #attend: FeedDeps["attend"];
  readonly #start: Omit<FeedStart, "inbox">;
  readonly #previews: PreviewBuffer;
  readonly #range: Pick<EventRange, "threadId" | "visible">;
  /** Input that was waiting when the reader attached, by id. */
  readonly #waiting: Set<string>;
  /** Input shown as queued on this connection and not yet as committed. */
  readonly #queued = new Set<string>();
  /** Everything to be shown up to this `seq` was given out. */
  #position: number;
  /** The newest `seq` heard of. */
  #target: number;
  #arrival: number;
  #sliceLimit = SLICE_MAX;
  #hasMoreLog = true;
  #hasMoreInbox = false;
  /** Something happened that may be the session's deletion. */
  #isDoubtful = false;

  constructor({ store, reads, attend }: FeedDeps, start: FeedStart, previews: PreviewBuffer) {
    this.#store = store;
    this.#reads = reads;
    this.#attend = attend;
    // Not kept whole: what waits in the inbox may be large, and a stream lasts for hours.
    const { inbox, ...place } = start;
    this.#start = place;
    this.#previews = previews;
    const { threadId } = start;
    this.#range = { visible: true, ...(threadId !== undefined && { threadId }) };
    this.#waiting = new Set(inbox.map((event) => event.id));
    this.#arrival = Math.max(-1, ...inbox.map((event) => event.arrival));
    this.#position = start.after;
    this.#target = start.attachedAt;
  }

  hear(announcement: Announcement): void {
    if (announcement.type === "missed") {
      this.recheck();
      return;
    }
    if (announcement.workspaceId !== this.#start.key.workspaceId) return;
    if (announcement.type === "preview") {
      if (announcement.threadId !== this.#start.previewThreadId) return;
      this.#previews.add(announcement.preview, this.#target);
      return;
    }
    const isAppend = announcement.lastSeq > this.#target;
    if (isAppend) {
      this.#target = announcement.lastSeq;
      this.#hasMoreLog = true;
    }
    if (!isAppend || announcement.due) this.#hasMoreInbox = true;
    this.#isDoubtful = true;
  }

  /** Looks at everything again: an announcement may have been lost. */
  recheck(): void {
    this.#hasMoreLog = true;
    this.#hasMoreInbox = true;
    this.#isDoubtful = true;
  }

  /**
   * What is to be shown next, in order; nothing if there is nothing new. `ended` once the session is
   * deleted. Calls must not overlap.
   */
  async pull(): Promise<{ frames: readonly StreamFrame[]; ended: boolean }> {
    while (this.#hasMoreLog || this.#hasMoreInbox || this.#isDoubtful) {
      const frames = await this.#step();
      if (frames.length > 0) return { frames, ended: false };
      if (this.#isDoubtful && !this.#hasMoreLog && !this.#hasMoreInbox) {
        this.#isDoubtful = false;
        const deleted = await this.#findDeletion();
        if (deleted !== undefined) return { frames: [deleted], ended: true };
      }
    }
    return { frames: this.#previews.takeBefore(this.#position + 1), ended: false };
  }

  async #step(): Promise<StreamFrame[]> {
    if (this.#hasMoreLog) return await this.#pullLog();
    if (this.#hasMoreInbox) return await this.#pullInbox();
    return [];
  }

  async #pullLog(): Promise<StreamFrame[]> {
    const target = this.#target;
    const limit = this.#sliceLimit;
    const { attachedAt } = this.#start;
    this.#hasMoreLog = false;
    // Events that can still be read are no sign of deletion; what is announced from here on is.
    const wasDoubtful = this.#isDoubtful;
    this.#isDoubtful = false;
    const range: EventRange = { ...this.#range, after: this.#position, order: "asc", limit };
    const events = await this.#reads.getEvents(this.#start.key, range, target);
    const input = events.findLast(({ type, seq }) => INPUT_TYPES.has(type) && seq > attachedAt);
    if (input !== undefined) await this.#attend(input.processed_at);
    const frames: StreamFrame[] = [];
    const shown = this.#showLog(events, frames);
    const isCut = shown < events.length;
    this.#sliceLimit = isCut ? shown + 1 : Math.min(SLICE_MAX, limit * 2);
    if (events.length === 0 && wasDoubtful) this.#isDoubtful = true;
    // An empty slice means that what was heard of is not to be shown here.
    if (events.length === 0) this.#position = Math.max(this.#position, target);
    this.#target = Math.max(this.#target, this.#position);
    if (isCut || events.length === limit || this.#position < this.#target) this.#hasMoreLog = true;
    return frames;
  }

  /** Shows events until there is enough for one write; answers how many. */
  #showLog(events: readonly LogEvent[], frames: StreamFrame[]): number {
    this.#showUnannounced(events, frames);
    let size = 0;
    let shown = 0;
    for (const event of events) {
      if (size >= PULL_SIZE) break;
      frames.push(...this.#previews.takeBefore(event.seq));
      if (PREVIEWED_TYPES.has(event.type)) this.#previews.close(event.id);
      const frame = this.#reads.frameOf(event);
      this.#queued.delete(event.id);
      this.#waiting.delete(event.id);
      frames.push(frame);
      size += frame.data.length;
      this.#position = event.seq;
      shown++;
    }
    return shown;
  }

  /**
   * Input whose arrival this reader should have seen and has not, because it was taken up before this
   * process looked. It came before what was made of it, so it is shown before that.
   */
  #showUnannounced(events: readonly LogEvent[], frames: StreamFrame[]): void {
    for (const event of events) {
      const isKnown = this.#queued.has(event.id) || this.#waiting.has(event.id);
      if (isKnown || !INPUT_TYPES.has(event.type) || event.seq <= this.#start.attachedAt) continue;
      this.#queued.add(event.id);
      frames.push(queuedForm(event));
    }
  }

  async #pullInbox(): Promise<StreamFrame[]> {
    this.#hasMoreInbox = false;
    const frames: StreamFrame[] = [];
    for (const event of await this.#store.events.getInbox(this.#start.key)) {
      if (event.arrival <= this.#arrival) continue;
      this.#arrival = event.arrival;
      const { threadId } = this.#start;
      if (threadId !== undefined && event.thread_id !== threadId) continue;
      this.#queued.add(event.id);
      await this.#attend(event.accepted_at);
      frames.push({ type: event.type, data: JSON.stringify(toWire(event)) });
    }
    return frames;
  }

  /** The last event of a deleted session: its log is gone, so the tombstone tells. */
  async #findDeletion(): Promise<StreamFrame | undefined> {
    const session = await this.#store.sessions.find(this.#start.key);
    if (session === undefined || session.deleted_at === null) return undefined;
    const type = "session.deleted";
    const id = `sevt_${session.id.slice(session.id.indexOf("_") + 1)}`;
    return { type, data: JSON.stringify({ id, type, processed_at: session.deleted_at }) };
  }
}

function queuedForm(event: LogEvent): StreamFrame {
  return {
    type: event.type,
    data: JSON.stringify({ ...toWire(event), processed_at: null }),
  };
}
