import { nowMs, sleep } from "../lib/clock.ts";
import { claimAll, openStore } from "../lib/log-store.ts";
import { writeLog } from "../lib/long-log.ts";
import { atMost, distribution, type Section } from "../lib/measurement.ts";
import { cpuMicros } from "../lib/proc.ts";
import { sample } from "../lib/sampling.ts";
import { openSessions, type Sessions, untilIdle } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

const LENGTHS = [100, 1_000, 10_000, 100_000] as const;
const [SHORTEST] = LENGTHS;
/** What keeps the workspace that the server makes at its first start. */
const WORKSPACE = "wrkspc_default";
const SETTLE_MS = 10;
const SAY = [{ content: [{ type: "text" as const, text: "Done." }] }];

interface Cost {
  readonly ms: number;
  readonly micros: number;
}

/** What a turn costs in a session with a log of some length, against one that is short. */
export async function measureTurnCost(world: World): Promise<Section> {
  const data = world.newDataFolder("turn-cost");
  const ids = await createSessions(world, data);
  await using server = await world.startServer({ data });
  const sessions = await openSessions(server.client);
  const rounds = await sample(world.plan.turnCost, async (index) => {
    const costs = new Map<number, Cost>();
    // The first of a round is another one each time.
    for (const at of LENGTHS.keys()) {
      const place = (at + index) % LENGTHS.length;
      const [length, id] = [LENGTHS[place] ?? SHORTEST, ids[place] ?? ""];
      costs.set(length, await turn(server.pid, sessions, id, `turn-${index}-${length}`));
    }
    return costs;
  });
  const of = (length: number, value: (cost: Cost) => number) =>
    rounds.map((round) => value(round.get(length) ?? { ms: Number.NaN, micros: Number.NaN }));
  const ratios = (length: number, value: (cost: Cost) => number) => {
    const short = of(SHORTEST, value);
    return of(length, value).map((one, index) => one / (short[index] ?? Number.NaN));
  };
  const shown = (length: number) => length.toLocaleString("en");
  return {
    title: "A turn against the length of its log",
    measurements: [
      ...LENGTHS.slice(1).map((length) =>
        distribution(
          {
            name: `time of a turn, ${shown(length)} events ÷ ${SHORTEST}`,
            unit: "×",
            goals: [atMost("p50", 1.5)],
          },
          ratios(length, ({ ms }) => ms),
        ),
      ),
      ...LENGTHS.slice(1).map((length) =>
        distribution(
          { name: `· CPU of the server, ${shown(length)} events ÷ ${SHORTEST}`, unit: "×" },
          ratios(length, ({ micros }) => micros),
        ),
      ),
      ...LENGTHS.map((length) =>
        distribution(
          { name: `· a turn at ${shown(length)} events: send → idle`, unit: "ms" },
          of(length, ({ ms }) => ms),
        ),
      ),
    ],
    notes: [
      "Sessions of one server, in turns; each turn is a message and a short answer, read from the session's stream. The logs were written through the store as the harness writes them, the context compacted three turns before the end; they grow by a turn with each sample, and so do their contexts, all alike.",
    ],
  };
}

async function createSessions(world: World, data: string): Promise<readonly string[]> {
  const ids: string[] = [];
  {
    await using server = await world.startServer({ data });
    const sessions = await openSessions(server.client);
    for (const _ of LENGTHS) ids.push(await sessions.create());
  }
  const store = openStore(data);
  try {
    const keys = ids.map((sessionId) => ({ workspaceId: WORKSPACE, sessionId }));
    const claims = await claimAll(store, keys);
    if (claims.length !== ids.length) throw new Error("not every session was claimed");
    const lengthOf = (id: string) => LENGTHS[ids.indexOf(id)] ?? SHORTEST;
    await Promise.all(claims.map((claim) => writeLog(store, claim, lengthOf(claim.sessionId))));
  } finally {
    await store.close();
  }
  return ids;
}

async function turn(pid: number, sessions: Sessions, id: string, label: string): Promise<Cost> {
  const over = untilIdle(await sessions.stream(id), label);
  const cpuBefore = cpuMicros(pid);
  const startMs = nowMs();
  await sessions.send(id, { label, answers: SAY });
  await over;
  const ms = nowMs() - startMs;
  // What is done after the answer belongs to it as well.
  await sleep(SETTLE_MS);
  return { ms, micros: cpuMicros(pid) - cpuBefore };
}
