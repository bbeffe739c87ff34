import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { openSqliteStore } from "../store/sqlite/sqlite-store.ts";
import { openHarness, openWorld } from "./world.testsuite.ts";

const message = (text: string) => ({ type: "user.message", content: [{ type: "text", text }] });

test("a reader that stalls costs the server no memory for what it does not read", async () => {
  const world = await openWorld({ openStore: openSqliteStore });
  const { url } = await world.listen();
  const { body: session } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    initial_events: [message("go")],
  });
  const abort = new AbortController();
  await fetch(`${url}/v1/sessions/${session.id}/events/stream`, {
    headers: { authorization: `Bearer ${world.key}` },
    signal: abort.signal,
  });
  const harness = await openHarness(world, session.id);
  const before = heapBytes();
  for (let index = 0; index < 32; index++) {
    const content = [{ type: "text", text: String(index % 10).repeat(1024 * 1024) }];
    await harness.append([harness.event("agent.message", { content })]);
  }
  // 32 MB were committed; what may be held for the stalled reader is what one write holds.
  expect(heapBytes() - before).toBeLessThan(8 * 1024 * 1024);
  abort.abort();
});

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
