import { describe, expect, test } from "vitest";
import type { Announcement, Announcements } from "./announcements.ts";

/** The contract of `Announcements`. `settled` resolves when all that was published has been heard. */
export function testAnnouncements(
  open: () => Promise<{ announcements: Announcements; settled(): Promise<void> }>,
): void {
  describe("Announcements", () => {
    test("brings a session's announcements to its subscribers, in order, and no others", async () => {
      const { announcements, settled } = await open();
      const heard: Announcement[][] = [[], []];
      for (const list of heard) announcements.subscribe("sesn_a", (item) => list.push(item));
      const published = [changed("sesn_a", 1), preview("sesn_a"), changed("sesn_a", 2)];
      announcements.publish(changed("sesn_b", 1));
      for (const announcement of published) announcements.publish(announcement);
      await settled();
      expect(heard).toEqual([published, published]);
    });

    test("tells those who ask for due sessions of every session, and of nothing else", async () => {
      const { announcements, settled } = await open();
      const heard: Announcement[] = [];
      announcements.subscribeDue((announcement) => heard.push(announcement));
      const due = [changed("sesn_a", 1, true), changed("sesn_b", 4, true)];
      announcements.publish(changed("sesn_a", 0));
      announcements.publish(preview("sesn_a"));
      for (const announcement of due) announcements.publish(announcement);
      await settled();
      expect(heard).toEqual(due);
    });

    test("tells nobody who has stopped, and keeps apart two subscriptions of one listener", async () => {
      const { announcements, settled } = await open();
      const heard: Announcement[] = [];
      const listener = (announcement: Announcement) => void heard.push(announcement);
      const stopFirst = announcements.subscribe("sesn_a", listener);
      const stopSecond = announcements.subscribe("sesn_a", listener);
      const stopDue = announcements.subscribeDue(listener);
      stopFirst();
      stopFirst();
      stopDue();
      announcements.publish(changed("sesn_a", 1, true));
      await settled();
      expect(heard).toEqual([changed("sesn_a", 1, true)]);
      stopSecond();
      announcements.publish(changed("sesn_a", 2, true));
      await settled();
      expect(heard).toHaveLength(1);
    });

    test("tells everybody when announcements may have been lost", async () => {
      const { announcements, settled } = await open();
      const heard: string[] = [];
      announcements.subscribe("sesn_a", ({ type }) => heard.push(`session a: ${type}`));
      announcements.subscribe("sesn_b", ({ type }) => heard.push(`session b: ${type}`));
      announcements.subscribeDue(({ type }) => heard.push(`due: ${type}`));
      announcements.publish({ type: "missed" });
      await settled();
      expect(heard.toSorted()).toEqual(["due: missed", "session a: missed", "session b: missed"]);
    });

    test("lets others hear when a listener throws", async () => {
      const { announcements, settled } = await open();
      const heard: Announcement[] = [];
      announcements.subscribe("sesn_a", () => {
        throw new Error("listener broke");
      });
      announcements.subscribe("sesn_a", (announcement) => heard.push(announcement));
      announcements.publish(changed("sesn_a", 1));
      await settled();
      expect(heard).toEqual([changed("sesn_a", 1)]);
    });

    test("keeps the order when a listener publishes", async () => {
      const { announcements, settled } = await open();
      const heard: Announcement[] = [];
      announcements.subscribe("sesn_a", (announcement) => {
        if (announcement.type === "changed" && announcement.lastSeq === 1) {
          announcements.publish(changed("sesn_a", 2));
        }
      });
      announcements.subscribe("sesn_a", (announcement) => heard.push(announcement));
      announcements.publish(changed("sesn_a", 1));
      await settled();
      expect(heard).toEqual([changed("sesn_a", 1), changed("sesn_a", 2)]);
    });
  });
}

function changed(sessionId: string, lastSeq: number, due = false): Announcement {
  return { type: "changed", workspaceId: "wrkspc_1", sessionId, lastSeq, due };
}

function preview(sessionId: string): Announcement {
  const event = { type: "agent.message", id: "sevt_1" };
  return {
    type: "preview",
    workspaceId: "wrkspc_1",
    sessionId,
    threadId: "sthr_1",
    preview: { type: "event_start", event },
  };
}
