import { nowMs, sleep } from "../lib/clock.ts";
import { openHostShell } from "../lib/host-shell.ts";
import { atMost, distribution, type Measurement, type Section } from "../lib/measurement.ts";
import { childTrees, proportionalBytes } from "../lib/proc.ts";
import { sample } from "../lib/sampling.ts";
import { handsPid } from "../lib/server.ts";
import { openSessions } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";
import { measureContainers } from "./container-times.ts";
import { measureKeptFiles } from "./kept-files.ts";
import { NAP, type Times, timeCommands } from "./sandbox-times.ts";
import { measureSpares } from "./spare-times.ts";

/** Sandboxes that are left alive, to see what they take. */
const KEPT = 20;
const DISPOSE_MS = 10_000;
const LOOK_MS = 50;

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
  const memory = await memoryOf(server.data, kept);
  const keptFiles = await measureKeptFiles(world, server.client, sessions);
  const spares = await measureSpares(world, shell);
  const containers = await measureContainers(world);
  return {
    title: "Sandboxes",
    measurements: [
      of("create → first result (`true` in a new sandbox)", ({ cold }) => cold, 100),
      of("· of it for the new sandbox", ({ cold, warm }) => cold - warm),
      of("warm `true`, over its own time", ({ warm, ownTrue }) => warm - ownTrue, 10),
      of(`warm \`${NAP}\`, over its own time`, ({ nap, ownNap }) => nap - ownNap, 10),
      of("· its own time: in a bash of this machine", ({ ownNap }) => ownNap),
      memory,
      ...keptFiles,
      spares,
      ...containers.measurements,
    ],
    notes: [
      "As the client sees it: from agent.tool_use on the stream to agent.tool_result, with the commit of the journal before the call and of the result after it. Each sandbox has its own way out to the network; the goal is the design's for those.",
      `What \`${NAP}\` takes beyond \`true\` is no wait for anything: after 50 ms in which nothing ran, each step of each process, the timer and the sync of the disk take up to twice as long as right after another command.`,
      ...containers.notes,
    ],
  };
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
