/**
 * The fault campaign: real servers, real hands and real sandboxes, killed while clients talk.
 *
 *   node --conditions=drover-source test/faults/run.ts --seed 1..200 [--minutes 4]
 *     [--unsafe fence|journal|reattach]   switches a safeguard off: the campaign must fail
 *     [--sought 'ran \d+ times']          and goes on until a rule is broken in these words
 *     [--database postgres]               on a PostgreSQL server of its own; without servers that freeze
 *     [--resume campaign.jsonl]           goes on where an earlier run with this file has ended
 *
 * Each seed is one kill. Exit code 0: every kill done, every point visited, no rule broken.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { startMessagesApi } from "@drover/testing";
import { Campaign } from "./campaign.ts";
import { startPostgres } from "./postgres.ts";
import { copyProgram } from "./program.ts";
import { type BlockResult, brokenIn, tally, unvisited } from "./tally.ts";
import type { Safeguard } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1..200" },
    minutes: { type: "string" },
    unsafe: { type: "string" },
    sought: { type: "string" },
    database: { type: "string" },
    resume: { type: "string" },
  },
});

const [, first = "", last = ""] = /^(\d+)\.\.(\d+)$/.exec(values.seed) ?? fail("--seed is A..B");
const unsafe = safeguard(values.unsafe);
const program = copyProgram();
const double = await startMessagesApi({ keep: 1_000 });
const done = values.resume === undefined ? [] : earlier(values.resume);
const postgres = await startDatabase(values.database);
const newDatabase = postgres?.newDatabase;
const sought = values.sought === undefined ? undefined : new RegExp(values.sought);
const campaign = new Campaign({ program, double, unsafe, sought, say, newDatabase });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void giveUp());

try {
  const blocks = await campaign.run({
    firstSeed: Number(first),
    lastSeed: Number(last),
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
    done,
    record: (block) => {
      if (values.resume !== undefined) appendFileSync(values.resume, `${JSON.stringify(block)}\n`);
    },
  });
  say(`\n${tally(blocks)}`);
  conclude(blocks, Number(last) - Number(first) + 1);
} finally {
  await double.close();
  await postgres?.stop();
  program.remove();
}

async function giveUp(): Promise<void> {
  await campaign.abort();
  await postgres?.stop();
  program.remove();
  process.exit(130);
}

function conclude(blocks: readonly BlockResult[], seeds: number): void {
  const broken = blocks.flatMap(brokenIn);
  const missing = unvisited(blocks);
  const count = blocks.reduce((sum, block) => sum + block.lastSeed - block.firstSeed + 1, 0);
  if (broken.length > 0) say(`\n${broken.length} broken rules:\n${broken.join("\n")}`);
  if (count < seeds) say(`\nOnly ${count} of ${seeds} seeds are done.`);
  else if (missing.length > 0) say(`\nNothing died at: ${missing.join(", ")}`);
  process.exitCode = broken.length > 0 || count < seeds || missing.length > 0 ? 1 : 0;
}

function earlier(file: string): readonly BlockResult[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

function safeguard(name: string | undefined): Safeguard | undefined {
  if (name === undefined || name === "fence" || name === "journal" || name === "reattach") {
    return name;
  }
  return fail("--unsafe is fence, journal or reattach");
}

async function startDatabase(name: string | undefined) {
  if (name === undefined || name === "sqlite") return undefined;
  return name === "postgres" ? await startPostgres() : fail("--database is sqlite or postgres");
}

function fail(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
