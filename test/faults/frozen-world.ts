import { rmSync } from "node:fs";
import { join } from "node:path";
import { Random } from "@drover/testing";
import { Crowd, type WorldResult } from "./crowd.ts";
import { endWorld } from "./kill-world.ts";
import { POINTS } from "./plan.ts";
import { kill, sleep, stateOf, until } from "./processes.ts";
import { ServerLife } from "./server-life.ts";
import { freePort, type World } from "./world.ts";

const TALKERS = 4;
/** A request to a frozen server is never answered. */
const REQUEST_MS = 1_000;
const FREEZE_MS = 4_000;
const TAKE_OVER_MS = 8_000;
const THAWED_MS = 1_500;
const TURNS = 4;
const NTH_MAX = 4;

const STOPS = POINTS.serve.filter((name) => !/\.(start|spawn|dispose)\./.test(name));

/** Here a thawed server appends at once what its successor has asked for again: see the fence. */
const ABOUT_TO_APPEND = ["serve.model.after", "serve.execute.after"];

/**
 * A server is stopped at some point in the middle of turns, loses its lock, and another takes its
 * place and goes on. Then the first is thawed: what it still wants to append and to send is too late.
 */
export async function runFrozenWorld(
  world: World,
  { seed, rounds }: { seed: number; rounds: number },
): Promise<WorldResult> {
  const random = new Random(seed);
  const points = random.shuffled(STOPS);
  let frozen = 0;
  let locked = 0;
  let server = new ServerLife(world, await freePort(), "");
  const crowd = new Crowd(world, { size: TALKERS, seed, url: server.url, requestMs: REQUEST_MS });
  for (let round = 0; round < rounds; round += 1) {
    await server.end("SIGKILL");
    const point = round % 2 === 0 ? random.pick(ABOUT_TO_APPEND) : points[round % points.length];
    const nth = random.int(1, NTH_MAX);
    const first = new ServerLife(world, await freePort(), `${point}:${nth}:stop`);
    crowd.moveTo(first.url);
    if (!(await until(() => stateOf(first.pid) === "T", FREEZE_MS))) kill(first.pid, "SIGSTOP");
    rmSync(join(world.data, "serve.lock"), { force: true });
    server = new ServerLife(world, await freePort(), "");
    if (!(await server.listening)) {
      locked += 1;
      await first.end("SIGKILL");
      server = new ServerLife(world, await freePort(), "");
    }
    crowd.moveTo(server.url);
    const turns = crowd.turns;
    await until(() => crowd.turns >= turns + TURNS, TAKE_OVER_MS);
    if (kill(first.pid, "SIGCONT")) frozen += 1;
    await sleep(THAWED_MS);
    await first.end("SIGKILL");
  }
  const result = await crowd.finish();
  const left = await endWorld(world, server);
  return { ...result, frozen, locked, broken: [...result.broken, ...left] };
}
