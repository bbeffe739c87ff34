import { nowMs, sleep } from "../lib/clock.ts";
import { atMost, distribution, type Section } from "../lib/measurement.ts";
import { sample } from "../lib/sampling.ts";
import type { Server } from "../lib/server.ts";
import {
  isMessage,
  openSessions,
  runTurn,
  type Sessions,
  type StreamEvent,
} from "../lib/sessions.ts";
import type { Turn } from "../lib/turn.ts";
import type { World } from "../lib/world.ts";

/** The server dies while this runs, and the command ends while there is no server. */
const COMMAND = "sleep 0.2; echo ran >> runs";
const KILL_AFTER_MS = 100;

interface Times {
  readonly fromKillMs: number;
  readonly fromSpawnMs: number;
  readonly listeningMs: number;
}

/** `kill -9` of the server in the middle of a command, until its client sees the session go on. */
export async function measureKill(world: World): Promise<Section> {
  const data = world.newDataFolder("kill");
  await using cast = new Cast(world, await world.startServer({ data }));
  const id = await (await cast.sessions()).create();
  // The first call makes the sandbox.
  await runTurn(await cast.sessions(), id, { label: "first", answers: [bash(": > runs"), SAY] });
  const { warmUp } = world.plan.kill;
  const times = await sample(world.plan.kill, (index) => killOnce(cast, id, index));
  const ran = await countRuns(await cast.sessions(), id);
  if (ran !== warmUp + times.length) {
    throw new Error(`${ran} commands ran and not ${warmUp + times.length}`);
  }
  const of = (name: string, value: (taken: Times) => number) =>
    distribution({ name, unit: "ms" }, times.map(value));
  return {
    title: "kill -9 of the server",
    measurements: [
      distribution(
        {
          name: "kill → the session's next event at its client",
          unit: "ms",
          goals: [atMost("p50", 1_000), atMost("p95", 1_000)],
        },
        times.map(({ fromKillMs }) => fromKillMs),
      ),
      of("· start of the new process → next event", ({ fromSpawnMs }) => fromSpawnMs),
      of("· start of the new process → it listens", ({ listeningMs }) => listeningMs),
    ],
    notes: [
      `Each sample kills the server ${KILL_AFTER_MS} ms after the tool use while \`${COMMAND}\` runs in a live sandbox, starts it again at once on the same port, opens the stream again, reads the newest events of the list and takes the first that is new: the command's result, from hands that lived on. ${ran} commands ran, each once.`,
    ],
  };
}

/** The server of the moment. */
class Cast implements AsyncDisposable {
  readonly #world: World;
  #server: Server;
  #sessions: Promise<Sessions> | undefined;

  constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
  }

  sessions(): Promise<Sessions> {
    this.#sessions ??= openSessions(this.#server.client);
    return this.#sessions;
  }

  async restart(): Promise<Server> {
    const port = Number(new URL(this.#server.url).port);
    await this.#server.kill();
    this.#server = await this.#world.startServer({ data: this.#server.data, port });
    return this.#server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

const SAY = { content: [{ type: "text" as const, text: "Done." }] };

function bash(command: string) {
  return { content: [{ type: "tool_use" as const, name: "bash", input: { command } }] };
}

async function killOnce(cast: Cast, id: string, index: number): Promise<Times> {
  // The client's address does not change, so these go on working with the next server.
  const sessions = await cast.sessions();
  const turn = { label: `kill-${index}`, answers: [bash(COMMAND), SAY] };
  const seen = await untilToolUse(sessions, id, turn);
  await sleep(KILL_AFTER_MS);
  const killedMs = nowMs();
  const server = await cast.restart();
  const nextMs = await untilGoneOn(sessions, id, seen);
  return {
    fromKillMs: nextMs - killedMs,
    fromSpawnMs: nextMs - server.spawnedMs,
    listeningMs: server.listeningMs - server.spawnedMs,
  };
}

/** The ids of the events up to the tool use; the connection is left to break. */
async function untilToolUse(
  sessions: Sessions,
  id: string,
  turn: Turn,
): Promise<ReadonlySet<string>> {
  const stream = await sessions.stream(id);
  await sessions.send(id, turn);
  const seen = new Set<string>();
  let hasBegun = false;
  for await (const event of stream) {
    if ("id" in event) seen.add(event.id);
    hasBegun ||= isMessage(event, turn.label);
    if (hasBegun && event.type === "agent.tool_use") return seen;
  }
  throw new Error("the stream ended before the tool use");
}

const LATEST = 20;

/** As a client connects again: the stream first, then the list for what was missed, then the stream. */
async function untilGoneOn(
  sessions: Sessions,
  id: string,
  seen: ReadonlySet<string>,
): Promise<number> {
  const stream = await sessions.stream(id);
  const latest = await sessions.latest(id, LATEST);
  const missed = latest
    .slice(
      0,
      latest.findIndex((event) => seen.has(event.id)),
    )
    .toReversed();
  let nextMs: number | undefined;
  const see = (event: StreamEvent): boolean => {
    if (!("id" in event) || seen.has(event.id)) return false;
    checkResult(event);
    nextMs ??= nowMs();
    return event.type === "session.status_idle";
  };
  const isOver = missed.map(see).includes(true);
  if (isOver) stream.controller.abort();
  else for await (const event of stream) if (see(event)) break;
  if (nextMs === undefined) throw new Error("nothing new was seen");
  return nextMs;
}

/** A result that says that its outcome is unknown is no way to go on. */
function checkResult(event: StreamEvent): void {
  if (event.type === "agent.tool_result" && event.is_error === true) {
    throw new Error(`the command was lost: ${JSON.stringify(event.content)}`);
  }
}

async function countRuns(sessions: Sessions, id: string): Promise<number> {
  let text = "";
  await runTurn(sessions, id, { label: "count", answers: [bash("wc -l < runs"), SAY] }, (event) => {
    if (event.type !== "agent.tool_result") return;
    for (const block of event.content ?? []) if (block.type === "text") text += block.text;
  });
  return Number.parseInt(text, 10);
}
