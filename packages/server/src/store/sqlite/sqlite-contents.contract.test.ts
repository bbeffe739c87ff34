import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { all, claimedSession, message, running } from "../../core/ports/store.testsuite.ts";
import type { EventDraft } from "../../core/session/log-event.ts";
import { readEvents } from "../queries/read-events.ts";
import type { Query, SqlRunner } from "../sql.ts";
import { openTestStore } from "./open-test-store.testsuite.ts";
import { SqliteRunner } from "./sqlite-runner.ts";

test("keeps a large string once a session, however often its events have it", async () => {
  await using world = await openTestStore();
  const { store } = world;
  const claim = await claimedSession(store);
  const text = "x".repeat(100_000);
  const use: EventDraft = {
    ...running(),
    type: "agent.tool_use",
    public: { name: "write", input: { content: text } },
    private: { request: "sevt_r", blocks: [{ index: 0, block: { type: "tool_use", text } }] },
  };
  await store.write((tx) => tx.events.accept(claim, [message(text)]));
  const inbox = await store.events.getInbox(claim);
  await store.write((tx) => tx.events.append({ ...claim, drafts: [...inbox, use] }));
  const database = new Database(join(world.dataFolder, "drover.db"), { readonly: true });
  const read = (statement: string) => database.prepare(statement).pluck().all();
  expect(read("select length(body) from event_contents")).toEqual([text.length + 2]);
  expect(read("select max(length(public)) < 1000 from events")).toEqual([1]);
  expect(read("select size > 100000 from events order by seq")).toEqual([1, 1]);
  database.close();
});

test("reads nothing of a session that is deleted while it is read", async () => {
  await using world = await openTestStore();
  const { store } = world;
  const claim = await claimedSession(store);
  await store.write((tx) => tx.events.append({ ...claim, drafts: [message("x".repeat(100_000))] }));
  const database = new Database(join(world.dataFolder, "drover.db"), { readonly: true });
  const runner = new SqliteRunner(database);
  const interrupted: SqlRunner = {
    all: async <Row>(query: Query) => {
      const rows = await runner.all<Row>(query);
      await store.write((tx) => tx.sessions.delete(claim));
      return rows;
    },
    get: (query) => runner.get(query),
  };
  expect(await readEvents(interrupted, claim, { limit: 10 })).toEqual([]);
  database.close();
});

test("says which content is missing where it should be", async () => {
  await using world = await openTestStore();
  const { store } = world;
  const claim = await claimedSession(store);
  await store.write((tx) => tx.events.append({ ...claim, drafts: [message("x".repeat(100_000))] }));
  const database = new Database(join(world.dataFolder, "drover.db"));
  database.exec("delete from event_contents");
  database.close();
  await expect(all(store, claim)).rejects.toThrow(/content [0-9a-f]{64} of event \w+ is missing/);
});

test("refuses to read on over an event that a newer version wrote", async () => {
  await using world = await openTestStore();
  const { store } = world;
  const claim = await claimedSession(store);
  await store.write((tx) => tx.events.append({ ...claim, drafts: [running(), running()] }));
  const database = new Database(join(world.dataFolder, "drover.db"));
  database.exec("update events set v = 2 where seq = 2");
  database.close();
  await expect(all(store, claim)).rejects.toThrow("newer Drover");
  expect(await store.events.getEvents(claim, { limit: 1 })).toHaveLength(1);
});
