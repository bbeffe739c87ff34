import { writeSync } from "node:fs";
import { message } from "../../core/ports/store.testsuite.ts";
import { openPostgresStore } from "./postgres-store.ts";

/**
 * A program to be killed: takes every lease in the database of its argument and appends to all
 * sessions at once without end. Each acknowledged event is a line `<session id> <seq> <event id>`.
 */
const store = await openPostgresStore({
  url: process.argv[2] ?? "",
  clock: { now: () => Date.now(), sleepUntil: async () => undefined },
  announcements: { publish: () => undefined },
});
const holder = `process ${process.pid}`;
await store.write((tx) => tx.queue.takeOver(holder));
const claims = await store.write((tx) => tx.queue.claim({ holder, leaseMs: null, limit: 100 }));

await Promise.all(
  claims.map(async (claim) => {
    for (;;) {
      const drafts = [message("x".repeat(1000)), message("y")];
      const events = await store.write((tx) => tx.events.append({ ...claim, drafts }));
      const lines = events.map(({ seq, id }) => `${claim.sessionId} ${seq} ${id}\n`);
      // Written at once, so that a line that was not seen was not acknowledged.
      writeSync(1, lines.join(""));
    }
  }),
);
