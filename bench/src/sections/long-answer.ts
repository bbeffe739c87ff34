import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { Answer } from "../../../packages/testing/src/index.ts";
import { nowMs, sleep } from "../lib/clock.ts";
import { atMost, distribution, type Section } from "../lib/measurement.ts";
import { cpuMicros } from "../lib/proc.ts";
import { type Relay, startRelay } from "../lib/relay.ts";
import { sample, samplePairs } from "../lib/sampling.ts";
import type { Server } from "../lib/server.ts";
import { openSessions, type Sessions, untilIdle } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

const DELTAS = 2_000;
const DELTA_CHARS = 5;
const TEXT = "word ".repeat(DELTAS);
const PACE_MS = 2;
const SETTLE_MS = 20;

function answer(delayMs: number): readonly Answer[] {
  return [
    { content: [{ type: "text", text: TEXT }], pacing: { delayMs, chunkChars: DELTA_CHARS } },
  ];
}

/** A 2,000-delta answer: whether it takes longer through Drover, and what a delta costs the server. */
export async function measureLongAnswer(world: World): Promise<Section> {
  await using server = await world.startServer({ data: world.newDataFolder("long-answer") });
  await using relay = await startRelay(world.model);
  const sessions = await openSessions(server.client);
  await throughDrover(sessions, "first", 0);
  const paced = await measurePaced(world, { sessions, server, relay });
  const unpaced = await measureUnpaced(world, { sessions, server, relay });
  return {
    title: `An answer of ${DELTAS.toLocaleString("en")} deltas`,
    measurements: [...paced, ...unpaced.measurements],
    notes: [
      `Paced: from the call of send (Drover) or messages.create (direct) until the whole message is there; ${world.plan.paced.atOnce} of each, and of the relay's, run side by side, so all meet the same machine; CPU time is that of a round. The model waits ${PACE_MS} ms before each delta, by a timer that is late a little.`,
      "Unpaced: CPU time of all threads of the server for a whole turn, commits included, by 2,000; against that of a plain relay: a process that reads the same stream with the official SDK and writes each delta as an SSE frame to one reader, and does nothing else. Kernel accounting in nanoseconds.",
      `Drover joins deltas that arrive together: of 2,000 unpaced ones the reader got ${unpaced.frames.toFixed(0)} frames on average; the relay writes 2,000.`,
    ],
  };
}

async function measurePaced(world: World, { sessions, server, relay }: Cast) {
  const { atOnce } = world.plan.paced;
  const request = (await world.model.likeLast())({ label: "direct", answers: answer(PACE_MS) });
  const rounds = await sample(world.plan.paced, async (index) => {
    const cpuBefore = { drover: cpuMicros(server.pid), relay: cpuMicros(relay.pid) };
    const lanes = await Promise.all(
      Array.from({ length: atOnce }, async (_, lane) => {
        const [drover, direct] = await Promise.all([
          throughDrover(sessions, `paced-${index}-${lane}`, PACE_MS),
          directly(world, request),
          relay.read(request),
        ]);
        return { drover: drover.totalMs, direct };
      }),
    );
    const microsOf = (pid: number, before: number) => (cpuMicros(pid) - before) / DELTAS / atOnce;
    const drover = microsOf(server.pid, cpuBefore.drover);
    return { lanes, drover, relay: microsOf(relay.pid, cpuBefore.relay) };
  });
  const pairs = rounds.flatMap(({ lanes }) => lanes);
  return [
    distribution(
      { name: "paced 2 ms a delta: Drover ÷ direct", unit: "×", goals: [atMost("p50", 1.05)] },
      pairs.map(({ drover, direct }) => drover / direct),
    ),
    distribution(
      { name: "· through Drover: send → agent.message", unit: "ms" },
      pairs.map(({ drover }) => drover),
    ),
    distribution(
      { name: "· directly: messages.create → end", unit: "ms" },
      pairs.map(({ direct }) => direct),
    ),
    distribution(
      { name: "paced: CPU a delta, Drover ÷ plain relay", unit: "×" },
      rounds.map(({ drover, relay }) => drover / relay),
    ),
    distribution(
      { name: "· Drover's server, each delta a frame of its own", unit: "µs" },
      rounds.map(({ drover }) => drover),
    ),
    distribution(
      { name: "· plain relay", unit: "µs" },
      rounds.map(({ relay }) => relay),
    ),
  ];
}

interface Cast {
  readonly sessions: Sessions;
  readonly server: Server;
  readonly relay: Relay;
}

async function measureUnpaced(world: World, { sessions, server, relay }: Cast) {
  const request = (await world.model.likeLast())({ label: "relayed", answers: answer(0) });
  const pairs = await samplePairs(
    world.plan.unpaced,
    async (index) => {
      const before = cpuMicros(server.pid);
      const { frames } = await throughDrover(sessions, `unpaced-${index}`, 0);
      // What is done after the answer belongs to it as well.
      await sleep(SETTLE_MS);
      return { frames, micros: (cpuMicros(server.pid) - before) / DELTAS };
    },
    async () => {
      const before = cpuMicros(relay.pid);
      const frames = await relay.read(request);
      await sleep(SETTLE_MS);
      if (frames !== DELTAS) throw new Error(`the relay wrote ${frames} frames`);
      return (cpuMicros(relay.pid) - before) / DELTAS;
    },
  );
  const measurements = [
    distribution(
      {
        name: "unpaced: CPU a delta, Drover ÷ plain relay",
        unit: "×",
        goals: [atMost("p50", 2.5)],
      },
      pairs.map(({ a, b }) => a.micros / b),
    ),
    distribution(
      { name: "· Drover's server", unit: "µs" },
      pairs.map(({ a }) => a.micros),
    ),
    distribution(
      { name: "· plain relay", unit: "µs" },
      pairs.map(({ b }) => b),
    ),
  ];
  const frames = pairs.reduce((sum, { a }) => sum + a.frames, 0) / pairs.length;
  return { measurements, frames };
}

/** One turn of a new session; its session is made and its stream opened before the clock starts. */
async function throughDrover(sessions: Sessions, label: string, delayMs: number) {
  const id = await sessions.create();
  const stream = await sessions.stream(id, true);
  let frames = 0;
  let endMs = Number.NaN;
  let text = "";
  const over = untilIdle(stream, label, (event) => {
    if (event.type === "event_delta") frames += 1;
    if (event.type !== "agent.message") return;
    endMs = nowMs();
    text = event.content.map((block) => ("text" in block ? block.text : "")).join("");
  });
  const startMs = nowMs();
  await sessions.send(id, { label, answers: answer(delayMs) });
  await over;
  if (text !== TEXT) throw new Error("the message is not what the model said");
  return { totalMs: endMs - startMs, frames };
}

async function directly({ model }: World, request: MessageCreateParamsStreaming): Promise<number> {
  let text = "";
  const startMs = nowMs();
  for await (const event of await model.direct.messages.create(request)) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
      text += event.delta.text;
    }
  }
  const totalMs = nowMs() - startMs;
  if (text !== TEXT) throw new Error("the direct answer is not what the model said");
  return totalMs;
}
