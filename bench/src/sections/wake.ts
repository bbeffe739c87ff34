import { nowMs } from "../lib/clock.ts";
import { claimAll, openStore } from "../lib/log-store.ts";
import { writeLog } from "../lib/long-log.ts";
import { atMost, distribution, type Section } from "../lib/measurement.ts";
import { sample } from "../lib/sampling.ts";
import { type SavedLog, saveLog } from "../lib/saved-log.ts";
import { openSessions, type Sessions, untilIdle } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

const SHORT_EVENTS = 100;
/** What keeps the workspace that the server makes at its first start. */
const WORKSPACE = "wrkspc_default";
/** Turns of another session after each start, so that code is compiled and only data is cold. */
const WARM_TURNS = 10;
const SAY = [{ content: [{ type: "text" as const, text: "Done." }] }];

interface WokenPair {
  readonly longMs: number;
  readonly shortMs: number;
}

interface SessionPair {
  readonly long: string;
  readonly short: string;
}

/** From a message to a session that sleeps, until the model has its next request: long log against short. */
export async function measureWake(world: World): Promise<Section> {
  const data = world.newDataFolder("wake");
  const { longEvents, pairs } = world.plan.wake;
  const sessions = await createSessions(world, data, pairs);
  const saved = await fill(data, sessions, longEvents);
  const samples = await sample(world.plan.wake, (index) =>
    wakeAll(world, data, sessions, saved, index),
  );
  const taken = samples.flat();
  const of = (name: string, value: (pair: WokenPair) => number) =>
    distribution({ name, unit: "ms" }, taken.map(value));
  const long = longEvents.toLocaleString("en");
  return {
    title: "Wake of a long session",
    measurements: [
      distribution(
        {
          name: `wake, ${long} events ÷ ${SHORT_EVENTS} events`,
          unit: "×",
          goals: [atMost("p50", 2)],
        },
        taken.map(({ longMs, shortMs }) => longMs / shortMs),
      ),
      of(`· ${long} events: send → the model has the request`, ({ longMs }) => longMs),
      of(`· ${SHORT_EVENTS} events: send → the model has the request`, ({ shortMs }) => shortMs),
    ],
    notes: [
      `The logs were written through the store as the harness writes them: turns of 14 events with a tool call, the context compacted three turns before the end, the checkpoint one turn behind. Before each sample the log is put back to that state and the server started anew; ${WARM_TURNS} turns of another session come first, so that code is compiled, and each session is woken once. The pages of the file may be in the operating system's cache.`,
    ],
  };
}

async function createSessions(world: World, data: string, count: number) {
  await using server = await world.startServer({ data });
  const sessions = await openSessions(server.client);
  const pairs: SessionPair[] = [];
  for (let index = 0; index < count; index += 1) {
    pairs.push({ long: await sessions.create(), short: await sessions.create() });
  }
  return { pairs, warm: await sessions.create() };
}

type Cast = Awaited<ReturnType<typeof createSessions>>;

async function fill(data: string, { pairs, warm }: Cast, longEvents: number): Promise<SavedLog> {
  const store = openStore(data);
  try {
    const longIds = new Set(pairs.map(({ long }) => long));
    const ids = [...pairs.flatMap(({ long, short }) => [long, short]), warm];
    const keys = ids.map((sessionId) => ({ workspaceId: WORKSPACE, sessionId }));
    const claims = await claimAll(store, keys);
    if (claims.length !== ids.length) throw new Error("not every session was claimed");
    await Promise.all(
      claims.map((claim) => {
        return writeLog(store, claim, longIds.has(claim.sessionId) ? longEvents : SHORT_EVENTS);
      }),
    );
  } finally {
    await store.close();
  }
  return saveLog(data);
}

async function wakeAll(
  world: World,
  data: string,
  { pairs, warm }: Cast,
  saved: SavedLog,
  index: number,
) {
  saved.restore();
  await using server = await world.startServer({ data });
  const sessions = await openSessions(server.client);
  for (let turn = 0; turn < WARM_TURNS; turn += 1) {
    await wake(world, sessions, warm, `warm-${index}-${turn}`);
  }
  const taken: WokenPair[] = [];
  for (const [at, { long, short }] of pairs.entries()) {
    const wakeLong = () => wake(world, sessions, long, `long-${index}-${at}`);
    const wakeShort = () => wake(world, sessions, short, `short-${index}-${at}`);
    // Each comes first every other time, whatever the number of pairs.
    if ((index + at) % 2 === 0)
      taken.push({ longMs: await wakeLong(), shortMs: await wakeShort() });
    else {
      const shortMs = await wakeShort();
      taken.push({ longMs: await wakeLong(), shortMs });
    }
  }
  return taken;
}

async function wake(world: World, sessions: Sessions, id: string, label: string): Promise<number> {
  const over = untilIdle(await sessions.stream(id), label);
  const asked = world.model.askedAt(label);
  const startMs = nowMs();
  await sessions.send(id, { label, answers: SAY });
  const askedMs = await asked;
  await over;
  return askedMs - startMs;
}
