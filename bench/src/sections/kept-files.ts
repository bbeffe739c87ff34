import type Anthropic from "@anthropic-ai/sdk";
import type { Answer } from "../../../packages/testing/src/index.ts";
import { nowMs } from "../lib/clock.ts";
import { distribution, type Measurement } from "../lib/measurement.ts";
import { sample } from "../lib/sampling.ts";
import { runTurn, type Sessions } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

/** 200 MB in 10,000 files, half of it of no pattern. */
const FILES = `head -c 100000000 /dev/urandom | split -b 20000 -a 4 - r.
head -c 100000000 /dev/zero | split -b 20000 -a 4 - z.`;
const COUNT = "ls | wc -l";
const SAY: Answer = { content: [{ type: "text", text: "Done." }] };

/**
 * What it takes to keep a sandbox's files and to have them in another one: a fork's own share of both, which
 * idle sandboxes and those that change their machine do in the same way.
 */
export async function measureKeptFiles(
  world: World,
  client: Anthropic,
  sessions: Sessions,
): Promise<readonly Measurement[]> {
  const id = await sessions.create();
  await call(sessions, id, FILES);
  await call(sessions, id, "true");
  const times = await sample(world.plan.keptFiles, async () => {
    const startMs = nowMs();
    const fork = await client.post<{ id: string }>(`/v1/drover/sessions/${id}/fork`, {
      body: {},
    });
    const savedMs = nowMs() - startMs;
    const restoredMs = await call(sessions, fork.id, COUNT);
    await sessions.delete(fork.id);
    return { savedMs, restoredMs };
  });
  await sessions.delete(id);
  const name = "files of a sandbox (200 MB, 10,000)";
  return [
    distribution(
      { name: `${name}: kept`, unit: "ms" },
      times.map(({ savedMs }) => savedMs),
    ),
    distribution(
      { name: `${name}: in a new one, with its first result`, unit: "ms" },
      times.map(({ restoredMs }) => restoredMs),
    ),
  ];
}

async function call(sessions: Sessions, id: string, command: string): Promise<number> {
  let usedMs = Number.NaN;
  let tookMs = Number.NaN;
  const answers = [bash(command), SAY];
  await runTurn(sessions, id, { label: `kept-files-${command.length}`, answers }, (event) => {
    if (event.type === "agent.tool_use") usedMs = nowMs();
    if (event.type !== "agent.tool_result") return;
    if (event.is_error === true) throw new Error(`a command failed: ${JSON.stringify(event)}`);
    if (command === COUNT && !JSON.stringify(event.content).includes("10000")) {
      throw new Error(`files are missing: ${JSON.stringify(event)}`);
    }
    tookMs = nowMs() - usedMs;
  });
  return tookMs;
}

function bash(command: string): Answer {
  return { content: [{ type: "tool_use", name: "bash", input: { command } }] };
}
