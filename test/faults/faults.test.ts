import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, type TestContext, test } from "vitest";

const RUN = join(import.meta.dirname, "run.ts");
const SEEDS = "1..200";
const MINUTES = "5";
/** Beyond those minutes: the last block and what it makes up for. */
const CAMPAIGN_MS = 8 * 60_000;
/**
 * A campaign ends with the first block in which a rule is broken: most do with the first, of 16 seeds.
 * Whether a server that thaws still appends before it finds its lock gone is a matter of milliseconds,
 * so that a block alone may miss it.
 */
const UNSAFE_SEEDS = "1..96";
const UNSAFE_MS = 4 * 60_000;

test("nothing is lost, doubled or stuck, whatever is killed when", {
  timeout: CAMPAIGN_MS,
}, async () => {
  const campaign = await run(onTestFinished, "--seed", SEEDS, "--minutes", MINUTES);
  expect(campaign).toEqual({ status: 0, output: expect.stringContaining("0 broken.") });
});

test.concurrent.for([
  ["fence", /epoch \d+ after \d+|has \d+ ends|has 2 results/],
  ["journal", /ran \d+ times/],
  ["reattach", /ran \d+ times/],
] as const)(
  "the campaign fails with the %s switched off",
  {
    timeout: UNSAFE_MS,
  },
  async ([name, broken], test) => {
    const what = ["--seed", UNSAFE_SEEDS, "--unsafe", name, "--sought", broken.source];
    const campaign = await run(test.onTestFinished, ...what);
    test.expect(campaign).toEqual({ status: 1, output: expect.stringMatching(broken) });
  },
);

/** What it says is shown as well: the seeds, the tally, and where to look if a rule was broken. */
async function run(
  onFinished: TestContext["onTestFinished"],
  ...args: readonly string[]
): Promise<{ status: number; output: string }> {
  const child = spawn(process.execPath, ["--conditions=drover-source", RUN, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
    process.stdout.write(chunk);
  });
  const [status] = await once(child, "close");
  return { status, output };
}
