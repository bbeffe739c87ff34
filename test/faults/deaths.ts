import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Death, pointSetting } from "./plan.ts";
import { isGone, kill, sleep, until } from "./processes.ts";
import { ServerLife } from "./server-life.ts";
import type { World } from "./world.ts";

/** How a death came: at its point, at its time, or by force because its point was not reached. */
export type Manner = "point" | "time" | "missed" | "not_started";

export interface DeathRecord {
  readonly seed: number;
  readonly target: string;
  readonly point: string;
  readonly manner: Manner;
  /** Milliseconds from its start. */
  readonly ms: number;
  /** Sessions in the middle of a turn. */
  readonly busy: number;
}

/** Where a death is written down, with how many sessions were in the middle of a turn. */
export type Record = (death: Omit<DeathRecord, "busy">) => void;

/** A process that ended and was not killed. */
export class OrderlyEndError extends Error {}

/** A random death that comes sooner than this comes while the process starts. */
const WHILE_STARTING_MS = 200;
const HANDS_START_MS = 20_000;

/** One server after another on the port, each killed as planned. */
export async function killServers(
  world: World,
  port: number,
  deaths: readonly Death[],
  record: Record,
): Promise<void> {
  for (const death of deaths) {
    const startMs = Date.now();
    const life = new ServerLife(world, port, pointSetting(death));
    try {
      const isForced = await waitForServer(life, death);
      if (isForced) await life.end("SIGKILL");
      if (!life.isKilled) throw new OrderlyEndError(`a server ended by itself: ${life.logTail()}`);
      record(recordOf(death, isForced, startMs));
    } finally {
      await life.end("SIGKILL");
    }
  }
}

/** True if the server has to be killed now. */
async function waitForServer(life: ServerLife, { point, afterMs }: Death): Promise<boolean> {
  if (point !== undefined) return !(await until(() => life.isEnded, afterMs));
  if (afterMs >= WHILE_STARTING_MS) await life.listening;
  await sleep(afterMs);
  return true;
}

/** Puts the deaths of the hands to come where their lives find them, in this order. */
export function plantDeaths(world: World, deaths: readonly Death[]): void {
  for (const [index, death] of deaths.entries()) {
    writeFileSync(join(world.deaths, `${nameOf(index)}.todo`), pointSetting(death));
  }
}

/** Sees each planted death through. It is the servers that start the hands, with a call. */
export async function killHands(
  world: World,
  deaths: readonly Death[],
  record: Record,
): Promise<void> {
  for (const [index, death] of deaths.entries()) {
    let made = await killOnce(world, index, death);
    // They may have found others running; then the death is still to come.
    while (made === undefined) made = await killOnce(world, index, death);
    record(made);
  }
}

/** Undefined if the life that took the death was none. */
async function killOnce(
  world: World,
  index: number,
  death: Death,
): Promise<Parameters<Record>[0] | undefined> {
  const pid = await nextHands(world, index);
  const startMs = Date.now();
  if (pid === undefined) return { ...recordOf(death, true, startMs), manner: "not_started" };
  const isForced = await waitForHands(pid, death);
  if (isForced && kill(pid, "SIGKILL")) await until(() => isGone(pid), HANDS_START_MS);
  const names = readdirSync(world.deaths);
  const orderly = names.find((name) => name.startsWith(`${nameOf(index)}.${pid}.exit-`));
  if (orderly !== undefined) throw new OrderlyEndError(`hands ended by themselves: ${orderly}`);
  return names.includes(`${nameOf(index)}.todo`) ? undefined : recordOf(death, isForced, startMs);
}

/** The hands that took the death, by their process id; undefined if none start. */
async function nextHands(world: World, index: number): Promise<number | undefined> {
  const prefix = `${nameOf(index)}.`;
  let pid: number | undefined;
  await until(() => {
    const name = readdirSync(world.deaths).find((candidate) => candidate.startsWith(prefix));
    const state = name?.slice(prefix.length);
    pid = state === undefined || state === "todo" ? undefined : Number.parseInt(state, 10);
    return pid !== undefined;
  }, HANDS_START_MS);
  return pid;
}

/** True if the hands have to be killed now. */
async function waitForHands(pid: number, { point, afterMs }: Death): Promise<boolean> {
  if (point !== undefined) return !(await until(() => isGone(pid), afterMs));
  await sleep(afterMs);
  return true;
}

function recordOf(death: Death, isForced: boolean, startMs: number) {
  const { seed, target, point } = death;
  const manner: Manner = point === undefined ? "time" : isForced ? "missed" : "point";
  return { seed, target, point: point?.name ?? "", manner, ms: Date.now() - startMs };
}

function nameOf(index: number): string {
  return String(index).padStart(5, "0");
}
