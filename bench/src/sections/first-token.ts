import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import { nowMs } from "../lib/clock.ts";
import { atMost, distribution, type Section } from "../lib/measurement.ts";
import { samplePairs } from "../lib/sampling.ts";
import { openSessions, type Sessions, untilIdle } from "../lib/sessions.ts";
import type { World } from "../lib/world.ts";

/** Ten deltas, as fast as the model can: what is measured is what is added, not the model's thinking. */
const ANSWER = [
  {
    content: [{ type: "text" as const, text: "A few words. ".repeat(20) }],
    pacing: { chunkChars: 26 },
  },
];

interface DroverSample {
  /** From the call of `send` to the first delta on the stream. */
  readonly firstMs: number;
  /** The same call until it was answered. */
  readonly postMs: number;
  /** From the call until the model had its request. */
  readonly askedMs: number;
}

/** From a message to the first token on the session's stream, less what the model itself takes. */
export async function measureFirstToken(world: World): Promise<Section> {
  await using server = await world.startServer({ data: world.newDataFolder("first-token") });
  const sessions = await openSessions(server.client);
  // So that the direct client can ask for the same: the tools and the system prompt are read too.
  await throughDrover(world, sessions, "first");
  const requestFor = await world.model.likeLast();
  const pairs = await samplePairs(
    world.plan.firstToken,
    (index) => throughDrover(world, sessions, `drover-${index}`),
    (index) => directly(world, requestFor({ label: `direct-${index}`, answers: ANSWER })),
  );
  const of = (name: string, value: (pair: (typeof pairs)[number]) => number) =>
    distribution({ name, unit: "ms" }, pairs.map(value));
  return {
    title: "First token",
    measurements: [
      distribution(
        {
          name: "first token on the stream, minus the model's own",
          unit: "ms",
          goals: [atMost("p50", 3), atMost("p95", 10)],
        },
        pairs.map(({ a, b }) => a.firstMs - b),
      ),
      of("· through Drover: send → first event_delta", ({ a }) => a.firstMs),
      of("· directly: messages.create → first delta", ({ b }) => b),
      of("· of Drover's: send → the model has the request", ({ a }) => a.askedMs),
      of("· of Drover's: the model has it → first event_delta", ({ a }) => a.firstMs - a.askedMs),
      of("· send → answered (the message is on disk)", ({ a }) => a.postMs),
    ],
    notes: [
      "Each sample is a new session with an open stream; the direct request, made in turns with it, has the same model, system prompt, tools and message. Both clients are the official SDK in one process.",
    ],
  };
}

async function throughDrover(
  world: World,
  sessions: Sessions,
  label: string,
): Promise<DroverSample> {
  const id = await sessions.create();
  const stream = await sessions.stream(id, true);
  let firstMs: number | undefined;
  const over = untilIdle(stream, label, (event) => {
    if (event.type === "event_delta") firstMs ??= nowMs();
  });
  const asked = world.model.askedAt(label);
  const startMs = nowMs();
  await sessions.send(id, { label, answers: ANSWER });
  const postedMs = nowMs();
  await over;
  if (firstMs === undefined) throw new Error("no delta was shown");
  const askedMs = (await asked) - startMs;
  return { firstMs: firstMs - startMs, postMs: postedMs - startMs, askedMs };
}

async function directly({ model }: World, request: MessageCreateParamsStreaming): Promise<number> {
  let firstMs: number | undefined;
  const startMs = nowMs();
  for await (const event of await model.direct.messages.create(request)) {
    if (event.type === "content_block_delta") firstMs ??= nowMs();
  }
  if (firstMs === undefined) throw new Error("no delta came");
  return firstMs - startMs;
}
