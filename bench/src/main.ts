/**
 * `npm run bench [-- --quick] [-- --only=wake,kill]`: measures the packed build over loopback with the
 * official SDK, prints a table and keeps it in `bench/results`. Exit code 1 if something could not be
 * measured; a missed goal is told, and is no failure.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nowMs, within } from "./lib/clock.ts";
import { describeCommit, describeMachine } from "./lib/machine.ts";
import type { Section } from "./lib/measurement.ts";
import { createWorld, type World } from "./lib/world.ts";
import { FULL, QUICK } from "./plan.ts";
import { type Run, toMarkdown, writeResults } from "./report.ts";
import { measureAppends } from "./sections/appends.ts";
import { measureCoupled } from "./sections/coupled.ts";
import { measureCrowd } from "./sections/crowd.ts";
import { measureCrowdHttp } from "./sections/crowd-http.ts";
import { measureFirstToken } from "./sections/first-token.ts";
import { measureKill } from "./sections/kill.ts";
import { measureLongAnswer } from "./sections/long-answer.ts";
import { measureManySandboxes } from "./sections/many-sandboxes.ts";
import { measureMemory } from "./sections/memory.ts";
import { measureSandbox } from "./sections/sandbox.ts";
import { measureSecrets } from "./sections/secrets.ts";
import { measureSessionList } from "./sections/session-list.ts";
import { measureTurnCost } from "./sections/turn-cost.ts";
import { measureWake } from "./sections/wake.ts";

const RESULTS = fileURLToPath(new URL("../results", import.meta.url));
/** Sampling has its own budget; this one ends what hangs. */
const SECTION_MS = 6 * 60_000;

const SECTIONS: Readonly<Record<string, (world: World) => Promise<Section>>> = {
  "first-token": measureFirstToken,
  "long-answer": measureLongAnswer,
  appends: measureAppends,
  sandbox: measureSandbox,
  "many-sandboxes": measureManySandboxes,
  kill: measureKill,
  wake: measureWake,
  memory: measureMemory,
  crowd: measureCrowd,
  "crowd-http": measureCrowdHttp,
  "turn-cost": measureTurnCost,
  "session-list": measureSessionList,
  coupled: measureCoupled,
  secrets: measureSecrets,
};

const LOG_TAIL_CHARS = 4_000;

// Ending is what makes `exit` handlers stop every process that was started.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    /** The folder of the socket of a PostgreSQL server that nobody else uses, as user `drover`. */
    "postgres-socket": { type: "string" },
  },
});
const run = await measure(values.quick, values.only?.split(","));
process.stdout.write(`\n${toMarkdown(run)}`);
if (values.only === undefined) {
  const files = writeResults(RESULTS, run);
  process.stdout.write(`\nWritten to bench/results: ${files.join(", ")}\n`);
}
process.exit(run.failures.length > 0 ? 1 : 0);

async function measure(isQuick: boolean, only: readonly string[] | undefined): Promise<Run> {
  const startMs = nowMs();
  const date = new Date().toISOString();
  await using world = await createWorld(isQuick ? QUICK : FULL, values["postgres-socket"]);
  const machine = describeMachine(world.folder);
  const sections: Section[] = [];
  const failures: { title: string; message: string }[] = [];
  for (const [title, take] of Object.entries(SECTIONS)) {
    if (only !== undefined && !only.includes(title)) continue;
    const sectionMs = nowMs();
    try {
      sections.push(await within(SECTION_MS, `the section ${title}`, take(world)));
    } catch (error) {
      failures.push({ title, message: messageOf(error) });
      process.stderr.write(`${logOf(world.folder).slice(-LOG_TAIL_CHARS)}\n`);
    }
    const isBroken = failures.at(-1)?.title === title;
    const seconds = ((nowMs() - sectionMs) / 1000).toFixed(0);
    process.stdout.write(`${title}: ${isBroken ? "BROKEN, " : ""}${seconds} s\n`);
  }
  const minutes = (nowMs() - startMs) / 60_000;
  const commit = describeCommit(RESULTS);
  return { date, isQuick, minutes, machine, commit, sections, failures };
}

/** What the servers have written so far. */
function logOf(folder: string): string {
  const path = join(folder, "servers.log");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
