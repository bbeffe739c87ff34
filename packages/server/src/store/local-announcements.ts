import type {
  Announcement,
  AnnouncementListener,
  Announcements,
} from "../core/ports/announcements.ts";

/** Announcements within one process: what is published is heard before `publish` returns. */
export class LocalAnnouncements implements Announcements {
  readonly #bySession = new Map<string, Set<AnnouncementListener>>();
  readonly #due = new Set<AnnouncementListener>();
  readonly #waiting: Announcement[] = [];
  readonly #onError: (error: unknown) => void;
  #publishing = false;

  /** `onError` is told what a listener threw. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** What a listener publishes is heard after what it is hearing, by everybody in the same order. */
  publish(announcement: Announcement): void {
    this.#waiting.push(announcement);
    if (this.#publishing) return;
    this.#publishing = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#deliver(next);
      }
    } finally {
      this.#publishing = false;
    }
  }

  subscribe(sessionId: string, listener: AnnouncementListener): () => void {
    const listeners = this.#bySession.get(sessionId) ?? new Set();
    this.#bySession.set(sessionId, listeners);
    const own = wrapped(listener);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#bySession.get(sessionId) === listeners) {
        this.#bySession.delete(sessionId);
      }
    };
  }

  subscribeDue(listener: AnnouncementListener): () => void {
    const own = wrapped(listener);
    this.#due.add(own);
    return () => this.#due.delete(own);
  }

  #deliver(announcement: Announcement): void {
    const listeners =
      announcement.type === "missed"
        ? [...this.#bySession.values()].flatMap((each) => [...each]).concat(...this.#due)
        : this.#listenersOf(announcement);
    for (const listener of listeners) {
      try {
        listener(announcement);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  #listenersOf(
    announcement: Exclude<Announcement, { type: "missed" }>,
  ): readonly AnnouncementListener[] {
    const isDue = announcement.type === "changed" && announcement.due;
    return [...(this.#bySession.get(announcement.sessionId) ?? []), ...(isDue ? this.#due : [])];
  }
}

/** Its own identity for each subscription, so that the same listener can be subscribed twice. */
function wrapped(listener: AnnouncementListener): AnnouncementListener {
  return (announcement) => listener(announcement);
}
