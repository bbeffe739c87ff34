import type { Announcement } from "../core/ports/announcements.ts";
import type { SessionKey } from "../core/ports/event-log.ts";

interface Change {
  readonly lastSeq: number;
  readonly due: boolean;
}

/** Which sessions a write changed, to be announced once it is committed: one announcement each. */
export class Touched {
  readonly #changes = new Map<string, SessionKey & Change>();

  add({ workspaceId, sessionId }: SessionKey, change: Change): void {
    const earlier = this.#changes.get(sessionId);
    this.#changes.set(sessionId, {
      workspaceId,
      sessionId,
      lastSeq: Math.max(change.lastSeq, earlier?.lastSeq ?? 0),
      due: change.due || (earlier?.due ?? false),
    });
  }

  merge(other: Touched): void {
    for (const change of other.#changes.values()) this.add(change, change);
  }

  announcements(): readonly Announcement[] {
    return [...this.#changes.values()].map((change) => ({ type: "changed", ...change }));
  }
}
