import type { Preview } from "../core/ports/announcements.ts";
import type { ModelObserver } from "../core/ports/model.ts";

/** Shows a response while it is made, under the ids that its events will have. */
export interface ResponsePreview extends ModelObserver {
  /** The id under which a block was previewed. */
  idOf(blockIndex: number): string | undefined;
  /** Publishes what is still held back. */
  end(): void;
}

interface Options {
  readonly newId: () => string;
  readonly publish: (preview: Preview) => void;
  /** Runs the callback once the deltas that have already arrived are in; `setImmediate` in production. */
  readonly soon: (callback: () => void) => void;
}

/**
 * Neighbouring text blocks are one message; each thinking block is one event, announced without its
 * content. The first delta goes out at once; those that arrive together later go out as one, so that
 * a fast model does not cost a frame a token.
 */
export function createResponsePreview({ newId, publish, soon }: Options): ResponsePreview {
  const ids = new Map<number, string>();
  /** Place of a block within its message's content, given with its first text. */
  const places = new Map<number, number>();
  let message: { id: string; last: number; blocks: number } | undefined;
  let held: { id: string; place: number; text: string } | undefined;
  let isQuiet = true;

  const flush = () => {
    if (held === undefined) return;
    const { id, place, text } = held;
    held = undefined;
    publish({
      type: "event_delta",
      event_id: id,
      delta: { type: "content_delta", index: place, content: { type: "text", text } },
    });
  };
  const flushLater = () => {
    isQuiet = held === undefined;
    flush();
    if (!isQuiet) soon(flushLater);
  };

  const startText = (index: number) => {
    if (message === undefined || message.last !== index - 1) {
      message = { id: newId(), last: index, blocks: 0 };
      publish({ type: "event_start", event: { type: "agent.message", id: message.id } });
    }
    message.last = index;
    ids.set(index, message.id);
  };

  return {
    blockStarted: (index, type) => {
      flush();
      if (type === "text") return startText(index);
      message = undefined;
      const id = newId();
      ids.set(index, id);
      if (type === "thinking" || type === "redacted_thinking") {
        publish({ type: "event_start", event: { type: "agent.thinking", id } });
      }
    },
    textDelta: (index, text) => {
      const id = ids.get(index);
      if (id === undefined || message?.id !== id || text === "") return;
      const place = places.get(index) ?? message.blocks++;
      places.set(index, place);
      if (held !== undefined && held.place !== place) flush();
      held = { id, place, text: (held?.text ?? "") + text };
      if (!isQuiet) return;
      isQuiet = false;
      flush();
      soon(flushLater);
    },
    idOf: (index) => ids.get(index),
    end: flush,
  };
}
