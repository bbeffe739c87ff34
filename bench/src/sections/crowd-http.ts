import { nowMs, sleep } from "../lib/clock.ts";
import { atMost, distribution, mean, type Section } from "../lib/measurement.ts";
import { residentBytes } from "../lib/proc.ts";
import type { Server } from "../lib/server.ts";
import { openSessions, runTurn, type Sessions, untilIdle } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

const AT_ONCE = 50;
const SETTLE_MS = 500;
const WORD_MS = 1_000;
const WORD = "word ";
const SAY = [{ content: [{ type: "text" as const, text: "Done." }] }];

/** A thousand sessions at once inside an answer that comes over HTTP, each watched over HTTP. */
export async function measureCrowdHttp(world: World): Promise<Section> {
  const { sessions: n, answerMs } = world.plan.crowdHttp;
  const data = world.newDataFolder("crowd-http");
  await using server = await world.startServer({ data, canCollect: true });
  const sessions = await openSessions(server.client);
  const ids = await inTurns(n, async (index) => {
    const id = await sessions.create();
    await runTurn(sessions, id, { label: `before-${index}`, answers: SAY });
    return id;
  });
  const streams = await inTurns(n, (index) => sessions.stream(ids[index] ?? "", true));
  const before = await settled(server);
  const labels = ids.map((_, index) => `crowd-${index}`);
  const startMs = nowMs();
  const idleMs = streams.map(async (stream, index) => {
    await untilIdle(stream, labels[index] ?? "");
    return nowMs() - startMs;
  });
  await ask(world, sessions, { ids, labels, answerMs });
  const askedMs = nowMs() - startMs;
  const { loopDelayMs: askingMs } = await server.takeStock();
  await sleep(Math.max(0, (answerMs - askedMs) / 2));
  const { loopDelayMs: answeringMs } = await server.takeStock();
  const inside = { inUse: await server.collectGarbage(), resident: residentBytes(server.pid) };
  const insideMs = nowMs() - startMs;
  const ended = await Promise.all(idleMs);
  if (Math.min(...ended) < insideMs) throw new Error("some answers were over too early");
  const { loopDelayMs: endingMs } = await server.takeStock();
  return {
    title: `${n.toLocaleString("en")} sessions at once over HTTP inside an answer of ${answerMs / 1000} s`,
    measurements: [
      mean(
        { name: "memory in use a session", unit: "KB", goals: [atMost("p50", 200)] },
        n,
        (inside.inUse - before.inUse) / 1024 / n,
      ),
      mean({ name: "· resident", unit: "KB" }, n, (inside.resident - before.resident) / 1024 / n),
      mean({ name: "all messages sent → the model is asked by all", unit: "ms" }, n, askedMs),
      distribution(
        { name: "first message sent → a session's reader sees idle", unit: "ms" },
        ended,
      ),
      mean(
        { name: "loop delay p99 while they wait", unit: "ms", goals: [atMost("p50", 50)] },
        n,
        answeringMs,
      ),
      mean({ name: "· while they are taken up", unit: "ms" }, n, askingMs),
      mean({ name: "· while they end", unit: "ms" }, n, endingMs),
    ],
    notes: [
      `The packed build. Each session has a reader with event deltas on a connection of its own, and a stream of the model's that says a word a second; ${AT_ONCE} messages are sent at a time. Memory is what the server grew by from the open readers on until all were in the middle of their answers, after a collection of garbage. Model, readers and server share the machine.`,
    ],
  };
}

interface Cast {
  readonly ids: readonly string[];
  readonly labels: readonly string[];
  readonly answerMs: number;
}

async function ask(world: World, sessions: Sessions, { ids, labels, answerMs }: Cast) {
  const text = WORD.repeat(answerMs / WORD_MS);
  const pacing = { delayMs: WORD_MS, chunkChars: WORD.length };
  const answers = [{ content: [{ type: "text" as const, text }], pacing }];
  await inTurns(ids.length, async (index) => {
    const label = labels[index] ?? "";
    await sessions.send(ids[index] ?? "", { label, answers });
    await world.model.askedAt(label);
  });
}

async function settled(server: Server): Promise<{ inUse: number; resident: number }> {
  await sleep(SETTLE_MS);
  const inUse = await server.collectGarbage();
  return { inUse, resident: residentBytes(server.pid) };
}

async function inTurns<T>(n: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let from = 0; from < n; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, n - from);
    results.push(...(await Promise.all(Array.from({ length }, (_, lane) => work(from + lane)))));
  }
  return results;
}
