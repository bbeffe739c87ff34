import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { startServer } from "../support/drover.ts";
import { Contract } from "./document.ts";
import { problemOf } from "./judge.ts";
import { Population } from "./population.ts";
import { type CALLERS, type FuzzRequest, requests } from "./requests.ts";
import { asCurl, send } from "./send.ts";

/** A longer campaign: `FUZZ_REQUESTS=1000000 FUZZ_SEED=7 npx vitest run --project conformance test/fuzz`. */
const SEED = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000_000);
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 20_000);
/** A URL of PostgreSQL instead of a folder of SQLite. */
const DATABASE = process.env["FUZZ_DATABASE"];
const SETTINGS = {
  DROVER_LOG_LEVEL: "error",
  ...(DATABASE === undefined ? {} : { DROVER_DATABASE: DATABASE }),
};
const AT_ONCE = 12;
/** Requests that are thought up together; ids are as they were when a batch begins. */
const BATCH = 500;
const FAILURES_MAX = 25;
/** Megabytes that the server may have at the end, and it has about 200 at the start. */
const MEMORY_MAX = 900;

interface Failure {
  readonly problem: string;
  readonly request: string;
}

test(`${REQUESTS} requests made up from the contract find no fault`, async () => {
  process.stdout.write(`fuzz: ${REQUESTS} requests, FUZZ_SEED=${SEED}\n`);
  const server = await startServer({ env: SETTINGS });
  const log: string[] = [];
  server.process.stderr?.on("data", (chunk) => log.push(String(chunk)));
  const contract = await Contract.of(server.url);
  const population = await Population.make(server.url, server.apiKey, [
    `secret-of-one-${SEED}`,
    `secret-of-other-${SEED}`,
  ]);
  const leakIn = (...args: Parameters<typeof population.leakIn>) => population.leakIn(...args);
  const failures = new Map<string, Failure>();
  const statuses = new Map<number, number>();
  const answered = new Set<string>();
  const attempt = async (request: FuzzRequest) => {
    const key = population.keys[request.who];
    const fail = (problem: string) => {
      const name = `${request.method} ${request.endpoint.id} ${problem.replaceAll(/\w{16,}|\d+/g, "…")}`;
      failures.set(name.slice(0, 160), { problem, request: asCurl(server.url, request, key) });
    };
    try {
      const answer = await send(server.url, request, key);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 200) answered.add(request.endpoint.id);
      const problem = problemOf(request, answer, { contract, leakIn });
      if (problem !== undefined) fail(problem);
      else if (answer.status === 200) population.learn(request.who, answer.text);
    } catch (error) {
      fail(`no answer: ${error}`);
    }
  };
  const options = {
    contract,
    ids: (who: (typeof CALLERS)[number], name: string) => population.ids(who, name),
    families: (who: (typeof CALLERS)[number]) => population.families(who),
    marker: (who: (typeof CALLERS)[number]) => population.marker(who),
  };
  for (let done = 0; done < REQUESTS && failures.size < FAILURES_MAX; done += BATCH) {
    await population.grow();
    const numRuns = Math.min(BATCH, REQUESTS - done);
    const batch = fc.sample(requests(options), { numRuns, seed: SEED + done });
    const work = async () => {
      for (let next = batch.pop(); next !== undefined; next = batch.pop()) await attempt(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
  process.stdout.write(`fuzz: statuses ${JSON.stringify(Object.fromEntries(statuses))}\n`);
  if (failures.size > 0) {
    const file = join(tmpdir(), `drover-fuzz-${SEED}.sh`);
    writeFileSync(
      file,
      [...failures.values()].map(({ problem, request }) => `# ${problem}\n${request}\n`).join("\n"),
    );
    throw new Error(`${failures.size} faults, whole in ${file}:\n${shown([...failures.values()])}`);
  }
  expect(log.join("")).not.toMatch(/should not have|turn failed|drive failed/);
  // Else the requests would be so wild that nothing behind the first check is ever reached.
  const built = contract.endpoints.filter(({ isUnbuilt }) => !isUnbuilt);
  const unanswered = built.filter(({ id }) => !answered.has(id)).map(({ id }) => id);
  expect(unanswered.length, unanswered.join(", ")).toBeLessThan(built.length / 5);
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
  expect(memoryOf(server.process.pid ?? 0)).toBeLessThan(MEMORY_MAX);
}, 900_000);

function shown(failures: readonly Failure[]): string {
  return failures
    .map(({ problem, request }) => `${problem}\n    ${request.slice(0, 1_000)}`)
    .join("\n\n");
}

/** Resident, in megabytes. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}
