import { unreachable } from "../core/errors.ts";
import type { Preview } from "../core/ports/announcements.ts";
import type { StreamFrame } from "./streams-frame.ts";

export type PreviewType = "agent.message" | "agent.thinking";

/** Characters of frames held for a reader that does not keep up; then deltas are shed. */
const BUFFER_MAX = 64 * 1024;
/** How many ids of started and finished previews are remembered. */
const KNOWN_MAX = 64;

interface Buffered {
  readonly frame: StreamFrame;
  readonly eventId: string;
  /** The newest event that was committed when it was announced: it comes after that one. */
  readonly afterSeq: number;
}

/**
 * What one reader is still to be shown of responses in the making. Best effort: a reader that falls
 * behind loses the rest of that preview, never a part from its middle. One message preview is open at
 * a time, for the official client adds up deltas without looking at their id.
 */
export class PreviewBuffer {
  readonly #types: ReadonlySet<string>;
  readonly #known = new Set<string>();
  #buffered: Buffered[] = [];
  #size = 0;
  /** The message whose deltas are taken. */
  #open: string | undefined;

  constructor(types: ReadonlySet<PreviewType>) {
    this.#types = types;
  }

  add(preview: Preview, afterSeq: number): void {
    switch (preview.type) {
      case "event_start": {
        const { id, type } = preview.event;
        if (!this.#types.has(type) || this.#known.has(id)) return;
        this.#remember(id);
        const isBuffered = this.#push(preview, id, afterSeq);
        if (type === "agent.message") this.#open = isBuffered ? id : undefined;
        return;
      }
      case "event_delta":
        if (preview.event_id !== this.#open) return;
        if (!this.#push(preview, preview.event_id, afterSeq)) this.#open = undefined;
        return;
      default:
        unreachable(preview);
    }
  }

  /** Takes out what was announced before the event at `seq` was committed. */
  takeBefore(seq: number): StreamFrame[] {
    const end = this.#buffered.findIndex((buffered) => buffered.afterSeq >= seq);
    const taken = this.#buffered.splice(0, end === -1 ? this.#buffered.length : end);
    for (const { frame } of taken) this.#size -= frame.data.length;
    return taken.map(({ frame }) => frame);
  }

  /** Ends the preview of an event that is being shown in full: nothing of it may follow. */
  close(eventId: string): void {
    this.#remember(eventId);
    if (this.#open === eventId) this.#open = undefined;
    this.#buffered = this.#buffered.filter((buffered) => buffered.eventId !== eventId);
    this.#size = this.#buffered.reduce((size, { frame }) => size + frame.data.length, 0);
  }

  #push(preview: Preview, eventId: string, afterSeq: number): boolean {
    const frame = { type: preview.type, data: JSON.stringify(preview) };
    if (this.#size + frame.data.length > BUFFER_MAX) return false;
    this.#buffered.push({ frame, eventId, afterSeq });
    this.#size += frame.data.length;
    return true;
  }

  #remember(id: string): void {
    this.#known.add(id);
    const [oldest] = this.#known;
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}
