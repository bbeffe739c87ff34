import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isNewEnough } from "./node.js";
import { findPostgres } from "./postgres.js";
import { attempt, run } from "./run.js";
import { Stages } from "./stages.js";
import { setup } from "./vitest-postgres.js";
import { readVitestReport } from "./vitest-report.js";

test("Node 22.18 is new enough and 22.17 is not", () => {
  const versions = ["v20.20.2", "v22.17.1", "v22.18.0", "v24.0.0", ""];
  assert.deepEqual(versions.map(isNewEnough), [false, false, true, true, false]);
});

test("a program that cannot be started has failed", async () => {
  assert.equal(await run("/nowhere/at-all", []), 127);
  assert.equal(attempt("/nowhere/at-all", []).ok, false);
});

test("a program that hangs is ended, and has failed", async () => {
  assert.notEqual(await run("sleep", ["60"], { timeoutMs: 100 }), 0);
});

test("tests, files that did not load and errors outside tests are counted", () => {
  const loaded = { status: "passed", assertionResults: [{ status: "passed" }] };
  const unloaded = { status: "failed", assertionResults: [] };
  const failing = {
    name: "a.test.ts",
    status: "failed",
    assertionResults: [
      { status: "failed", fullName: "it works", failureMessages: ["It did not."] },
    ],
  };
  const read = (results, passed, failed, code) =>
    withReport(
      { testResults: results, numPassedTests: passed, numFailedTests: failed, numPendingTests: 0 },
      (path) => readVitestReport(path, code),
    );
  const count = (...of) => {
    const { passed, failed, skipped } = read(...of);
    return { passed, failed, skipped };
  };
  assert.deepEqual(count([loaded], 1, 0, 0), { passed: 1, failed: 0, skipped: 0 });
  assert.deepEqual(count([loaded, unloaded], 1, 0, 1), { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(count([failing, unloaded], 0, 1, 1), { passed: 0, failed: 2, skipped: 0 });
  assert.deepEqual(count([loaded], 1, 0, 1), { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(read([failing], 0, 1, 1).failures, ["a.test.ts: it works\nIt did not."]);
  assert.equal(readVitestReport("/nowhere/report.json", 0).failed, 1);
});

test("what failed is told after all has run, the last line is the count alone, and the exit code says whether all is well", async () => {
  const lines = [];
  const write = process.stdout.write;
  process.stdout.write = (text) => lines.push(...String(text).trim().split("\n")) > 0;
  const codes = [];
  try {
    codes.push(new Stages().report());
    const good = new Stages();
    await good.run("one", async () => ({ passed: 3, failed: 0 }));
    good.skip("two", "It needs a machine.", false);
    codes.push(good.report());
    const bad = new Stages();
    await bad.run("one", async () => ({ passed: 3, failed: 0, failures: ["It did not."] }));
    await bad.run("two", () => Promise.reject(new Error("broken")));
    bad.skip("three", "It needs a machine.", true);
    codes.push(bad.report());
  } finally {
    process.stdout.write = write;
  }
  const totals = lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line));
  assert.deepEqual(totals, ["0 passed, 0 failed", "3 passed, 0 failed", "3 passed, 2 failed"]);
  assert.equal(lines.at(-1), "3 passed, 2 failed");
  const told = lines.indexOf("It did not.");
  assert.match(lines[told - 1], /failed in one/);
  assert.ok(told < lines.findLastIndex((line) => line.includes("minutes per stage")));
  assert.ok(lines.some((line) => line.includes("The stage broke: Error: broken")));
  assert.deepEqual(codes, [1, 0, 1]);
});

test("tests that are over before their PostgreSQL is up leave none behind", async (context) => {
  if (findPostgres() === undefined) return context.skip("there is no PostgreSQL here");
  let place = {};
  const stop = setup({
    provide: (_, told) => {
      place = told;
    },
  });
  await stop();
  assert.equal(existsSync(place.socketFolder), false);
});

function withReport(content, use) {
  const folder = mkdtempSync(join(tmpdir(), "drover-report-"));
  try {
    const path = join(folder, "report.json");
    writeFileSync(path, JSON.stringify(content));
    return use(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
