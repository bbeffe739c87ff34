import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Crowd, type WorldResult } from "./crowd.ts";
import { type DeathRecord, killHands, killServers, plantDeaths, type Record } from "./deaths.ts";
import type { Death } from "./plan.ts";
import { commandOf, findProcesses, isGone, kill, sleep, until } from "./processes.ts";
import { ServerLife } from "./server-life.ts";
import { freePort, type World } from "./world.ts";

const TALKERS = 6;
const REQUEST_MS = 5_000;
const END_MS = 30_000;

/** Kills servers and hands side by side while clients talk, then lets all come to rest and looks. */
export async function runKillWorld(world: World, deaths: readonly Death[]): Promise<WorldResult> {
  const ofServe = deaths.filter(({ target }) => target === "serve");
  const ofHands = deaths.filter(({ target }) => target === "hands");
  plantDeaths(world, ofHands);
  const port = await freePort();
  const seed = deaths[0]?.seed ?? 0;
  const url = `http://127.0.0.1:${port}`;
  const crowd = new Crowd(world, { size: TALKERS, seed, url, requestMs: REQUEST_MS });
  const records: DeathRecord[] = [];
  const record: Record = (death) => void records.push({ ...death, busy: crowd.busy });
  let last: ServerLife | undefined;
  const serving = async () => {
    await killServers(world, port, ofServe, record);
    last = new ServerLife(world, port, "");
  };
  // Both to their ends, so that nothing goes on after a failure of one.
  const chains = await Promise.allSettled([serving(), killHands(world, ofHands, record)]);
  last ??= new ServerLife(world, port, "");
  const result = await crowd.finish();
  const failed = chains.flatMap((chain) =>
    chain.status === "rejected" ? [String(chain.reason)] : [],
  );
  const left = await endWorld(world, last);
  return { ...result, deaths: records, broken: [...result.broken, ...failed, ...left] };
}

/** An orderly end of server and hands, after which nothing of the world may run. */
export async function endWorld(world: World, server: ServerLife): Promise<readonly string[]> {
  await server.end("SIGTERM");
  const asked = new Set<number>();
  const isEnded = () => {
    // Those that the server began to start at its end may yet be waiting for the lock of the dead ones.
    const hands = handsOf(world);
    if (hands !== undefined && !asked.has(hands)) kill(hands, "SIGTERM");
    if (hands !== undefined) asked.add(hands);
    return hands === undefined && findProcesses(world.folder).length === 0;
  };
  if (await until(isEnded, END_MS)) return [];
  const left = findProcesses(world.folder).map((pid) => `${pid} ${commandOf(pid)}`);
  return [`${left.length} processes are left: ${left.join("; ")}`];
}

/** Ends whatever runs for the world, without manners. */
export async function clear(world: World): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const hands = handsOf(world);
    const pids = [...findProcesses(world.folder), ...(hands === undefined ? [] : [hands])];
    if (pids.filter((pid) => kill(pid, "SIGKILL")).length === 0) return;
    await sleep(100);
  }
}

function handsOf({ data }: World): number | undefined {
  const path = join(data, "hands.json");
  if (!existsSync(path)) return undefined;
  const { pid, pid_start } = JSON.parse(readFileSync(path, "utf8"));
  if (isGone(pid)) return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === pid_start ? pid : undefined;
}
