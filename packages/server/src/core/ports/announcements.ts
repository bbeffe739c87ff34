import type { SessionKey } from "./event-log.ts";

/** A hint that something is new, mostly in a session. Losing one costs latency, never an event. */
export type Announcement =
  /** Events were committed up to `lastSeq`, input was accepted, or the session was deleted. */
  | (SessionKey & { readonly type: "changed"; readonly lastSeq: number; readonly due: boolean })
  /** A response is being made: what clients that asked for previews may be shown. Best effort. */
  | (SessionKey & {
      readonly type: "preview";
      readonly threadId: string;
      readonly preview: Preview;
    })
  /** Others may have been lost: whoever listens looks for itself. */
  | { readonly type: "missed" };

export type Preview =
  | { readonly type: "event_start"; readonly event: { readonly type: string; readonly id: string } }
  | {
      readonly type: "event_delta";
      readonly event_id: string;
      readonly delta: {
        readonly type: "content_delta";
        readonly index: number;
        readonly content: { readonly type: "text"; readonly text: string };
      };
    };

export type AnnouncementListener = (announcement: Announcement) => void;

/** Carries announcements between the parts of a server, and between servers of one database. */
export interface Announcements {
  /** Never rejects or throws; a listener that throws does not keep the others from hearing. */
  publish(announcement: Announcement): void;
  /** All announcements of one session, in the order published, and `missed`. Returns the way to stop. */
  subscribe(sessionId: string, listener: AnnouncementListener): () => void;
  /** `changed` announcements of every session that became due, and `missed`. */
  subscribeDue(listener: AnnouncementListener): () => void;
}
