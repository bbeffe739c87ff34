import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drover, temporaryFolder } from "../support/drover.ts";
import { type WeatherNumbers, weatherNumbers } from "./weather-numbers.ts";

const DATA_SET = join(import.meta.dirname, "../../packages/server/demo/data/weather.csv");
const DROPPED_ROWS = 400;
const DEMO_MS = 180_000;

test(
  "the demo survives kill -9, and its report says what the data say, also when they are others",
  () => {
    const whole = runDemo([]);
    const csv = readFileSync(DATA_SET, "utf8");
    expect(whole.transcript).toMatch(/kill -9 .*process \d+, the server, in the middle/);
    expect(whole.transcript).toContain("The log has this call once and its result once.");
    const meanwhile = /different ones, (\d+) of them while no server was alive/.exec(
      whole.transcript,
    )?.[1];
    expect(Number(meanwhile)).toBeGreaterThan(0);
    expect(whole.transcript.match(/← no server was alive/g)?.length).toBe(Number(meanwhile));
    expect(whole.report).toContain("left 20 lines of 20 different batches");
    expectToSay(whole.report, weatherNumbers(csv));

    const fewer = runDemo(["--drop-rows", String(DROPPED_ROWS)]);
    const rows = csv.trimEnd().split("\n");
    expectToSay(fewer.report, weatherNumbers(rows.slice(0, -DROPPED_ROWS).join("\n")));
    expect(fewer.report).not.toBe(whole.report);
  },
  2 * DEMO_MS,
);

/** Runs the demo to its end, on a folder of its own, and gives what it printed and fetched. */
function runDemo(args: readonly string[]): { transcript: string; report: string } {
  const folder = temporaryFolder();
  const out = join(folder, "report.md");
  const result = drover(["demo", "--once", "--out", out, ...args], {
    env: { DROVER_DATA: join(folder, "data"), DROVER_PORT: "0" },
    timeoutMs: DEMO_MS,
  });
  expect(result.stderr).toBe("");
  expect(result.status).toBe(0);
  for (const name of ["server.json", "hands.json"]) {
    expect(existsSync(join(folder, "data/demo", name))).toBe(false);
  }
  return { transcript: result.stdout, report: readFileSync(out, "utf8") };
}

function expectToSay(report: string, numbers: WeatherNumbers): void {
  const { Seattle, "New York": newYork } = numbers.cities;
  const row = (name: string, of: (city: typeof Seattle) => string) =>
    `| ${name} | ${of(Seattle)} | ${of(newYork)} |`;
  const p = (numbers.asFarApart / numbers.shuffles).toFixed(4);
  for (const line of [
    row("days", (city) => `${city?.days}`),
    row("rainy days", (city) => `${city?.rainyDays}`),
    row("rain in total, mm", (city) => `${city?.totalMm.toFixed(1)}`),
    row("most on one day, mm", (city) => `${city?.mostMm.toFixed(1)}`),
    `of ${numbers.shuffles} shuffles of the cities' labels, ${numbers.asFarApart} came out as far apart (p = ${p})`,
    `${numbers.days} days, 2012-01-01 to 2015-12-31`,
  ]) {
    expect(report).toContain(line);
  }
}
