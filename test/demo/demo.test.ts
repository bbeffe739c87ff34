import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { answer, startMessagesApi, toolCall } from "@drover/testing";
import { expect, onTestFinished, test } from "vitest";
import { droverBeside, temporaryFolder } from "../support/drover.ts";
import { type WeatherNumbers, weatherNumbers } from "./weather-numbers.ts";

const DATA_SET = join(import.meta.dirname, "../../packages/server/demo/data/weather.csv");
const DROPPED_ROWS = 400;
const DEMO_MS = 180_000;

test(
  "the demo survives kill -9, and its report says what the data say, also when they are others",
  async () => {
    const [whole, fewer] = await Promise.all([
      runDemo([]),
      runDemo(["--drop-rows", String(DROPPED_ROWS)]),
    ]);
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

    const rows = csv.trimEnd().split("\n");
    expectToSay(fewer.report, weatherNumbers(rows.slice(0, -DROPPED_ROWS).join("\n")));
    expect(fewer.report).not.toBe(whole.report);
  },
  2 * DEMO_MS,
);

test(
  "with a model configured the demo uses that one and says which",
  async () => {
    const report = { file_path: "/mnt/session/outputs/report.md", content: "# Done\n" };
    const api = await startMessagesApi({
      script: [
        answer("I wait, and write.", toolCall("bash", { command: BATCHES })),
        answer(toolCall("write", report)),
        answer("Done."),
      ],
    });
    onTestFinished(() => api.close());
    const finished = await runDemo([], {
      DROVER_MODEL_BASE_URL: api.url,
      DROVER_MODEL_API_KEY: api.apiKey,
    });
    const model = String(api.requests[0]?.body["model"]);
    expect(finished.transcript).toContain(`${model}, asked at ${api.url}`);
    expect(finished.transcript).not.toContain(api.apiKey);
    expect(finished.report).toBe(report.content);
    expect(api.refusals).toEqual([]);
    expect(JSON.stringify(api.requests)).not.toContain("drover-script");
  },
  DEMO_MS,
);

/** Long enough to be killed in its middle. */
const BATCHES =
  'for batch in 1 2 3 4 5 6 7 8 9 10; do echo "batch $batch at $(date +%s.%1N): x"; sleep 1; done';

/** Runs the demo to its end, on a folder of its own, and gives what it printed and fetched. */
async function runDemo(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ transcript: string; report: string }> {
  const folder = temporaryFolder();
  const out = join(folder, "report.md");
  const result = await droverBeside(["demo", "--once", "--out", out, ...args], {
    env: { DROVER_DATA: join(folder, "data"), DROVER_PORT: "0", ...env },
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
