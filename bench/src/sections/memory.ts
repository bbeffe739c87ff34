import { sleep } from "../lib/clock.ts";
import { mean, type Section } from "../lib/measurement.ts";
import { residentBytes } from "../lib/proc.ts";
import type { Server } from "../lib/server.ts";
import { type EventStream, openSessions, runTurn, type Sessions } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

const AT_ONCE = 20;
const SETTLE_MS = 500;
const SAY = [{ content: [{ type: "text" as const, text: "Done." }] }];
/** The model never answers, so that the session stays where it is. */
const SILENCE = [{ fault: { type: "silent" as const } }];

/** How much a server grows by sessions that wait: for their users, watched or not, or for their model. */
export async function measureMemory(world: World): Promise<Section> {
  const data = world.newDataFolder("memory");
  await using server = await world.startServer({ data, canCollect: true });
  const sessions = await openSessions(server.client);
  const n = world.plan.memory.sessions;
  // Code that is compiled and caches that are filled are nobody's in particular.
  await warmUp(world, sessions);

  const start = await settled(server);
  const ids = await inTurns(n, async (index) => {
    const id = await sessions.create();
    await runTurn(sessions, id, { label: `memory-${index}`, answers: SAY });
    return id;
  });
  const idle = await settled(server);
  const streams = await inTurns(n, (index) => sessions.stream(ids[index] ?? ""));
  const watched = await settled(server);
  for (const stream of streams) stream.controller.abort();
  const alone = await settled(server);
  await inTurns(n, async (index) => {
    const label = `silent-${index}`;
    await sessions.send(ids[index] ?? "", { label, answers: SILENCE });
    await world.model.askedAt(label);
  });
  const running = await settled(server);

  const grown = (name: string, from: Bytes, to: Bytes) => [
    mean({ name, unit: "KB" }, n, (to.inUse - from.inUse) / 1024 / n),
    mean({ name: "· resident", unit: "KB" }, n, (to.resident - from.resident) / 1024 / n),
  ];
  return {
    title: "Memory of the server",
    measurements: [
      ...grown("an idle session that nobody watches", start, idle),
      ...grown("an idle session, more with an open stream", idle, watched),
      ...grown("a running session (waits for its model, not watched)", alone, running),
      mean({ name: "the server before any of them", unit: "MB" }, 1, start.inUse / 1e6),
      mean({ name: "· resident", unit: "MB" }, 1, start.resident / 1e6),
    ],
    notes: [
      `Growth of the server's process by ${n} sessions that have had one turn each, after a collection of garbage and after ${world.plan.memory.warmUp} other turns: what is in use in V8's heap and outside of it for V8, and the resident memory, which also has what V8 holds in reserve and may therefore not grow at all. A mean over all sessions: no percentiles.`,
    ],
  };
}

interface Bytes {
  readonly resident: number;
  readonly inUse: number;
}

async function warmUp({ plan }: World, sessions: Sessions): Promise<void> {
  const streams: EventStream[] = await inTurns(plan.memory.warmUp, async (index) => {
    const id = await sessions.create();
    await runTurn(sessions, id, { label: `warm-${index}`, answers: SAY });
    return await sessions.stream(id);
  });
  for (const stream of streams) stream.controller.abort();
}

async function settled(server: Server): Promise<Bytes> {
  await sleep(SETTLE_MS);
  const inUse = await server.collectGarbage();
  await sleep(SETTLE_MS);
  return { resident: residentBytes(server.pid), inUse };
}

/** `n` times, a few at once. */
async function inTurns<T>(n: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let from = 0; from < n; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, n - from);
    results.push(...(await Promise.all(Array.from({ length }, (_, lane) => work(from + lane)))));
  }
  return results;
}
