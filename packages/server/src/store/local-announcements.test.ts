import { expect, test } from "vitest";
import { testAnnouncements } from "../core/ports/announcements.testsuite.ts";
import { LocalAnnouncements } from "./local-announcements.ts";

testAnnouncements(async () => ({
  announcements: new LocalAnnouncements(() => undefined),
  settled: async () => undefined,
}));

test("says what a listener threw", () => {
  const errors: unknown[] = [];
  const announcements = new LocalAnnouncements((error) => errors.push(error));
  const failure = new Error("listener broke");
  announcements.subscribe("sesn_a", () => {
    throw failure;
  });
  announcements.publish({
    type: "changed",
    workspaceId: "wrkspc_1",
    sessionId: "sesn_a",
    lastSeq: 1,
    due: false,
  });
  expect(errors).toEqual([failure]);
});
