import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { SimulatedDay } from "../testing/simulated-day-main.ts";

const MAIN = join(import.meta.dirname, "../testing/simulated-day-main.ts");
/** A day is simulated within so many milliseconds, or something in it waits for the clock on the wall. */
const DAY_MS_MAX = 300_000;
const CHECKPOINT_BYTES_MAX = 64 * 1024;

test("a session works for days: 2,000 rounds of tools, 30 compactions, and the heap stays as it was", {
  timeout: DAY_MS_MAX + 10_000,
}, async () => {
  // That it ends by itself shows that no timer and no connection is left behind.
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", "--conditions=drover-source", MAIN],
    { timeout: DAY_MS_MAX, killSignal: "SIGKILL" },
  );
  const day: SimulatedDay = JSON.parse(stdout);
  process.stdout.write(`simulated day: ${stdout}`);
  expect(day).toMatchObject({ errors: [], broken: [], approvals: 20, retries: 50 });
  expect(day.compactions).toBeGreaterThanOrEqual(30);
  expect(day.hours).toBeGreaterThan(24);
  // Each round's call once, and now and then one beside it.
  expect(day.executions).toBe(2_000 + 2_000 / 25);
  expect(day.stopReasons.toSorted()).toEqual(["end_turn", "requires_action"]);
  expect(day.checkpointMax).toBeGreaterThan(0);
  expect(day.checkpointMax).toBeLessThanOrEqual(CHECKPOINT_BYTES_MAX);
  expect(day.timers).toEqual({ 200: 0, 2000: 0 });
  const { 200: early = 0, 2_000: late = Infinity } = day.heap;
  expect(late / early).toBeLessThan(1.1);
});
