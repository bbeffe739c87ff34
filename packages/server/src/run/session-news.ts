import type { Announcements } from "../core/ports/announcements.ts";
import { Wakeup } from "../lib/wakeup.ts";

/** Hears when others have put something into a session: input, or a receipt. */
export class SessionNews {
  readonly #wakeup = new Wakeup();
  readonly #unsubscribe: () => void;
  #isFresh = false;

  /** Made before the session is read, so that nothing comes unheard in between. */
  constructor(announcements: Announcements, sessionId: string) {
    this.#unsubscribe = announcements.subscribe(sessionId, (announcement) => {
      const isNews =
        announcement.type === "missed" || (announcement.type === "changed" && announcement.due);
      if (!isNews) return;
      this.#isFresh = true;
      this.#wakeup.notify();
    });
  }

  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** True if there was news since it was last asked. */
  take(): boolean {
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    return isFresh;
  }

  /** Ends the wait of whoever waits, for a reason of the caller's own. */
  ring(): void {
    this.#wakeup.notify();
  }

  /** Resolves at the next news or ring. */
  async wait(): Promise<void> {
    await this.#wakeup.wait();
  }

  close(): void {
    this.#unsubscribe();
  }
}
