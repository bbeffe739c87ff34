import { createTestDatabase } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { testAnnouncements } from "../../core/ports/announcements.testsuite.ts";
import type { Announcement, Announcements } from "../../core/ports/announcements.ts";
import { openCuttingProxy } from "./cutting-proxy.testsuite.ts";
import { PostgresAnnouncements } from "./postgres-announcements.ts";

async function open(url: string, holder: string): Promise<PostgresAnnouncements> {
  const opened = await PostgresAnnouncements.open({ url, holder, onError: () => undefined });
  onTestFinished(() => opened.close());
  return opened;
}

async function openDatabase(): Promise<string> {
  const database = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database.url;
}

function changed(sessionId: string): Announcement {
  return { type: "changed", workspaceId: "wrkspc_1", sessionId, lastSeq: 1, due: false };
}

/** Resolves when what was published so far, and what it made listeners publish, has been heard. */
async function settled(from: Announcements, to: Announcements): Promise<void> {
  for (const sessionId of ["sesn_marker_1", "sesn_marker_2"]) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = to.subscribe(sessionId, ({ type }) => {
      if (type === "changed") resolve();
    });
    from.publish(changed(sessionId));
    await promise;
    stop();
  }
}

/** Published in one server and heard in another, as if they were two processes. */
testAnnouncements(async () => {
  const url = await openDatabase();
  const [one, other] = [await open(url, "one"), await open(url, "other")];
  return {
    announcements: {
      publish: (announcement) => one.publish(announcement),
      subscribe: (sessionId, listener) => other.subscribe(sessionId, listener),
      subscribeDue: (listener) => other.subscribeDue(listener),
    },
    settled: () => settled(one, other),
  };
});

test("a server hears itself at once and once", async () => {
  const url = await openDatabase();
  const [one, other] = [await open(url, "one"), await open(url, "other")];
  const heard: Announcement[] = [];
  one.subscribe("sesn_a", (announcement) => heard.push(announcement));
  one.publish(changed("sesn_a"));
  expect(heard).toEqual([changed("sesn_a")]);
  await settled(one, other);
  await settled(other, one);
  expect(heard).toEqual([changed("sesn_a")]);
});

test("after a break everybody looks, here and in the other servers, and hears again", async () => {
  const url = await openDatabase();
  await using proxy = await openCuttingProxy(url);
  const [cut, other] = [await open(proxy.url, "cut"), await open(url, "other")];
  const looks = [cut, other].map(
    (server) =>
      new Promise<void>((resolve) => {
        server.subscribe("sesn_a", ({ type }) => type === "missed" && resolve());
      }),
  );
  await proxy.close();
  const heard: Announcement[] = [];
  other.subscribe("sesn_b", (announcement) => heard.push(announcement));
  cut.publish(changed("sesn_b"));
  // Nothing of it can be sent: it is lost, which is why the others are told to look.
  await new Promise((resolve) => setImmediate(resolve));
  await proxy.reopen();
  await Promise.all(looks);
  await settled(cut, other);
  await settled(other, cut);
  expect(heard).toEqual([{ type: "missed" }]);
});
