import type { Answer } from "../../../packages/testing/src/index.ts";
import { nowMs, sleep } from "../lib/clock.ts";
import { type HostShell, openHostShell } from "../lib/host-shell.ts";
import { atMost, distribution, type Measurement, type Section } from "../lib/measurement.ts";
import { childTrees, proportionalBytes } from "../lib/proc.ts";
import { sample } from "../lib/sampling.ts";
import { handsPid } from "../lib/server.ts";
import { openSessions, runTurn, type Sessions } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";
import { measureKeptFiles } from "./kept-files.ts";

/** Sandboxes that are left alive, to see what they take. */
const KEPT = 20;
const NAP = "sleep 0.05";
const DISPOSE_MS = 10_000;
const LOOK_MS = 50;

const SAY: Answer = { content: [{ type: "text", text: "Done." }] };
const ANSWERS: readonly Answer[] = [bash("true"), bash("true"), bash(NAP), SAY];

interface Times {
  readonly cold: number;
  readonly warm: number;
  readonly nap: number;
  /** The same two commands in a bash of the host. */
  readonly ownTrue: number;
  readonly ownNap: number;
}

/** What a client sees between a tool use and its result, in a new sandbox and in a live one. */
export async function measureSandbox(world: World): Promise<Section> {
  await using server = await world.startServer({ data: world.newDataFolder("sandbox") });
  await using shell = openHostShell();
  const sessions = await openSessions(server.client);
  let kept = 0;
  const times = await sample(world.plan.sandbox, async (index) => {
    const id = await sessions.create();
    const taken = await timeCommands(sessions, shell, { id, label: `sandbox-${index}` });
    if (kept < KEPT && index >= world.plan.sandbox.warmUp) kept += 1;
    else await sessions.delete(id);
    return taken;
  });
  const of = (name: string, value: (taken: Times) => number, goalMs?: number) =>
    distribution(
      { name, unit: "ms", goals: goalMs === undefined ? [] : [atMost("p50", goalMs)] },
      times.map(value),
    );
  return {
    title: "Sandboxes",
    measurements: [
      of("create → first result (`true` in a new sandbox)", ({ cold }) => cold, 100),
      of("· of it for the new sandbox", ({ cold, warm }) => cold - warm),
      of("warm `true`, over its own time", ({ warm, ownTrue }) => warm - ownTrue, 10),
      of(`warm \`${NAP}\`, over its own time`, ({ nap, ownNap }) => nap - ownNap, 10),
      of("· its own time: in a bash of this machine", ({ ownNap }) => ownNap),
      await memoryOf(server.data, kept),
      ...(await measureKeptFiles(world, server.client, sessions)),
    ],
    notes: [
      "As the client sees it: from agent.tool_use on the stream to agent.tool_result, with the commit of the journal before the call and of the result after it. Each sandbox has its own way out to the network; the goal is the design's for those.",
    ],
  };
}

async function timeCommands(
  sessions: Sessions,
  shell: HostShell,
  { id, label }: { id: string; label: string },
): Promise<Times> {
  const used: number[] = [];
  const took: number[] = [];
  await runTurn(sessions, id, { label, answers: ANSWERS }, (event) => {
    if (event.type === "agent.tool_use") used.push(nowMs());
    if (event.type !== "agent.tool_result") return;
    if (event.is_error === true) throw new Error(`a command failed: ${JSON.stringify(event)}`);
    took.push(nowMs() - (used.at(-1) ?? Number.NaN));
  });
  const [cold = Number.NaN, warm = Number.NaN, nap = Number.NaN] = took;
  return { cold, warm, nap, ownTrue: await shell.time("true"), ownNap: await shell.time(NAP) };
}

/** What idle sandboxes take, shared pages by their share; the hands' own process is not in it. */
async function memoryOf(data: string, expected: number): Promise<Measurement> {
  const megabytes = (await sandboxesLeft(data, expected)).map(
    (pids) => pids.reduce((sum, pid) => sum + proportionalBytes(pid), 0) / 1e6,
  );
  return distribution(
    { name: "memory of an idle sandbox (PSS)", unit: "MB", goals: [atMost("p50", 8)] },
    megabytes,
  );
}

/** The processes of each sandbox, once those of deleted sessions are gone. */
async function sandboxesLeft(
  data: string,
  expected: number,
): Promise<readonly (readonly number[])[]> {
  const hands = await handsPid(data);
  if (hands === undefined) throw new Error("there are no hands");
  const endMs = nowMs() + DISPOSE_MS;
  for (;;) {
    const trees = childTrees(hands);
    if (trees.length === expected) return trees;
    if (nowMs() > endMs) throw new Error(`there are ${trees.length} sandboxes, not ${expected}`);
    await sleep(LOOK_MS);
  }
}

function bash(command: string): Answer {
  return { content: [{ type: "tool_use", name: "bash", input: { command } }] };
}
