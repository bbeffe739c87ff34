import type { Answer } from "../../../packages/testing/src/index.ts";
import { nowMs } from "../lib/clock.ts";
import { distribution, mean, type Section } from "../lib/measurement.ts";
import { childTrees, proportionalBytes } from "../lib/proc.ts";
import { handsPid } from "../lib/server.ts";
import { openSessions, untilIdle } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

const TRUE: Answer = {
  content: [{ type: "tool_use", name: "bash", input: { command: "true" } }],
};
const SAY: Answer = { content: [{ type: "text", text: "Done." }] };
const LABEL = "many-sandboxes";

/** What many sessions see that want their first sandbox in the same moment, and what those take. */
export async function measureManySandboxes(world: World): Promise<Section> {
  await using server = await world.startServer({ data: world.newDataFolder(LABEL) });
  const sessions = await openSessions(server.client);
  // The hands' own start is in none of the times.
  const warm = await sessions.create();
  await turnOf(warm, "warm");
  await sessions.delete(warm);
  const n = world.plan.manySandboxes.sandboxes;
  const ids = await Promise.all(Array.from({ length: n }, () => sessions.create()));
  const startMs = nowMs();
  const ended = await Promise.allSettled(ids.map((id, index) => turnOf(id, `${LABEL}-${index}`)));
  // None is read any more by now, so that the server can be ended whatever went wrong.
  const turns = ended.map((turn) => {
    if (turn.status === "rejected") throw turn.reason;
    return turn.value;
  });
  const allMs = Math.max(...turns.map(({ coldMs }) => coldMs)) - startMs;
  const hands = await handsPid(server.data);
  if (hands === undefined) throw new Error("there are no hands");
  const trees = childTrees(hands);
  if (trees.length < n) throw new Error(`${trees.length} of ${n} sandboxes are left`);
  const megabytes = trees.map(
    (pids) => pids.reduce((sum, pid) => sum + proportionalBytes(pid), 0) / 1e6,
  );
  const ms = { unit: "ms" };
  return {
    title: `${n} sandboxes at once`,
    measurements: [
      mean({ ...ms, name: "first message sent → the first results of all" }, n, allMs),
      distribution(
        { ...ms, name: "· of a session: message sent → its first result" },
        turns.map(({ coldMs }) => coldMs - startMs),
      ),
      distribution(
        { ...ms, name: "· its second `true`, while the others begin" },
        turns.map(({ warmMs }) => warmMs),
      ),
      distribution({ name: "memory of a sandbox (PSS)", unit: "MB" }, megabytes),
      mean({ name: "memory of the hands (PSS)", unit: "MB" }, 1, proportionalBytes(hands) / 1e6),
    ],
    notes: [
      "All messages are sent in the same moment; each session makes its sandbox for its first call, with its own way out to the network, and keeps it. Model, readers, server and sandboxes share the machine.",
    ],
  };

  /** When its first result came, on the monotonic clock, and how long its second took. */
  async function turnOf(id: string, label: string): Promise<{ coldMs: number; warmMs: number }> {
    const stream = await sessions.stream(id);
    const results: number[] = [];
    let usedMs = Number.NaN;
    const over = untilIdle(stream, label, (event) => {
      if (event.type === "agent.tool_use") usedMs = nowMs();
      if (event.type !== "agent.tool_result") return;
      if (event.is_error === true) throw new Error(`a command failed: ${JSON.stringify(event)}`);
      results.push(nowMs());
    });
    await sessions.send(id, { label, answers: [TRUE, TRUE, SAY] });
    await over;
    const [coldMs = Number.NaN, secondMs = Number.NaN] = results;
    return { coldMs, warmMs: secondMs - usedMs };
  }
}
