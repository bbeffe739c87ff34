import { expect, test } from "vitest";
import { EgressLedger } from "./egress-ledger.ts";

test("bytes of a connection that goes on are told as they come, and its time at its end", () => {
  let now = 100;
  const ledger = new EgressLedger(() => now);
  const bytes = { up: 0, down: 0 };
  const end = ledger.connected("a.test", 443, () => bytes);
  Object.assign(bytes, { up: 10, down: 20 });
  const base = { host: "a.test", port: 443, verdict: "allowed", reason: null };
  expect(ledger.take()).toEqual([{ ...base, connections: 1, bytes_up: 10, bytes_down: 20, ms: 0 }]);
  expect(ledger.take()).toEqual([]);
  Object.assign(bytes, { up: 11, down: 50 });
  now = 350;
  end();
  end();
  expect(ledger.take()).toEqual([
    { ...base, connections: 0, bytes_up: 1, bytes_down: 30, ms: 250 },
  ]);
});

test("decisions are summed up by kind, and those beyond a number as one", () => {
  const ledger = new EgressLedger(() => 0);
  const decision = { port: 80, verdict: "refused", reason: "no" } as const;
  for (let round = 0; round < 1_000; round += 1) {
    ledger.count({ ...decision, host: `${round}.test` });
    ledger.count({ ...decision, host: "0.test" });
  }
  const records = ledger.take();
  expect(records.length).toBeLessThanOrEqual(256);
  expect(records[0]).toMatchObject({ host: "0.test", connections: 1_001 });
  expect(records.at(-1)).toMatchObject({ host: "*", port: null, verdict: "refused" });
  expect(records.reduce((sum, { connections }) => sum + connections, 0)).toBe(2_000);
});
