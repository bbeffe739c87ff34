import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import Anthropic from "@anthropic-ai/sdk";
import { readHandsFile } from "../../../packages/server/src/hands/protocol/hands-file.ts";
import { keepTrackOf, keepTrackOfPid, killChild } from "./children.ts";
import { nowMs, sleep, within } from "./clock.ts";
import type { Model } from "./model.ts";

const PRELOAD = new URL("../memory-on-signal.ts", import.meta.url).href;
const API_KEY = "key-of-the-benchmark";
const START_MS = 30_000;
const STOP_MS = 30_000;
const COLLECT_MS = 30_000;
const LOG_TAIL_CHARS = 2_000;

export interface ServerOptions {
  /** The `drover.js` of the build that is measured. */
  readonly program: string;
  readonly data: string;
  readonly model: Model;
  /** Any free one unless given. */
  readonly port?: number;
  /** As `DROVER_DATABASE` takes it; a file in the data folder unless given. */
  readonly database?: string;
  /** Further settings, by their variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** So that `collectGarbage` works. */
  readonly canCollect?: boolean;
}

/** The packed build, as `drover serve` runs it. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly data: string;
  /** On the monotonic clock: when its process was started, and when it said that it listens. */
  readonly spawnedMs: number;
  readonly listeningMs: number;
  /** The official SDK's client, which does not try again: a retry would hide a failure. */
  readonly client: Anthropic;
  /** Bytes that are in use afterwards, by V8 and by what it refers to. */
  collectGarbage(): Promise<number>;
  /** The same with how late its loop was since the last of these (milliseconds, 99th percentile). */
  takeStock(): Promise<Stock>;
  /** As a crash would end it; its hands live on. */
  kill(): Promise<void>;
}

export interface Stock {
  readonly inUse: number;
  readonly loopDelayMs: number;
}

export async function startServer(options: ServerOptions): Promise<Server> {
  const logFile = join(options.data, "..", "servers.log");
  const log = openSync(logFile, "a");
  const spawnedMs = nowMs();
  const flags = options.canCollect === true ? ["--expose-gc", "--import", PRELOAD] : [];
  const child = keepTrackOf(
    spawn(process.execPath, [...flags, options.program, "serve"], {
      stdio: ["ignore", "pipe", log],
      env: environment(options),
    }),
  );
  closeSync(log);
  if (child.stdout === null) throw new Error("the server has no stdout");
  const lines = createInterface(child.stdout);
  const first = await within(
    START_MS,
    "the start of a server",
    nextLine({ lines, child, logFile }),
  );
  const { url } = JSON.parse(first);
  const takeStock = async (): Promise<Stock> => {
    const collected = nextLine({ lines, child, logFile });
    child.kill("SIGUSR2");
    const line = await within(COLLECT_MS, "a collection of garbage", collected);
    const { heapUsed, external, loopDelayMs } = JSON.parse(line);
    return { inUse: heapUsed + external, loopDelayMs };
  };
  return {
    url,
    pid: child.pid ?? 0,
    data: options.data,
    spawnedMs,
    listeningMs: nowMs(),
    client: new Anthropic({ baseURL: url, apiKey: API_KEY, maxRetries: 0 }),
    takeStock,
    collectGarbage: async () => (await takeStock()).inUse,
    kill: () => killChild(child, "SIGKILL"),
    [Symbol.asyncDispose]: async () => {
      await killChild(child, "SIGKILL");
      await stopHands(options.data);
    },
  };
}

/** The process id of the data folder's hands; undefined if none run. */
export async function handsPid(data: string): Promise<number | undefined> {
  return (await readHandsFile(data))?.pid;
}

/** Hands are told, not killed, so that they end their sandboxes. */
async function stopHands(data: string): Promise<void> {
  const pid = await handsPid(data);
  if (pid === undefined || !isAlive(pid)) return;
  const ended = keepTrackOfPid(pid);
  process.kill(pid, "SIGTERM");
  const endMs = nowMs() + STOP_MS;
  while (isAlive(pid)) {
    if (nowMs() > endMs) throw new Error(`the hands (process ${pid}) do not end`);
    await sleep(20);
  }
  ended();
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

interface Output {
  readonly lines: Interface;
  readonly child: ChildProcess;
  readonly logFile: string;
}

async function nextLine({ lines, child, logFile }: Output): Promise<string> {
  const gone = new AbortController();
  const exited = once(child, "exit", { signal: gone.signal }).then(([code, signal]) => {
    const tail = readFileSync(logFile, "utf8").slice(-LOG_TAIL_CHARS);
    throw new Error(`the server ended (${signal ?? code}); the end of its log:\n${tail}`);
  });
  // Once the line is there nobody waits for the end any more, and giving up on it is no failure.
  exited.catch(() => undefined);
  try {
    const [line] = await Promise.race([once(lines, "line"), exited]);
    return line;
  } finally {
    gone.abort();
  }
}

/** The machine's, without settings of Drover or its models that would change what is measured. */
function environment({
  data,
  model,
  port = 0,
  database = "sqlite",
  settings = {},
}: ServerOptions): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => name === "DROVER_BWRAP" || !/^(DROVER|ANTHROPIC|NODE)_/.test(name),
  );
  return {
    ...Object.fromEntries(own),
    DROVER_DATA: data,
    DROVER_DATABASE: database,
    DROVER_PORT: String(port),
    DROVER_API_KEY: API_KEY,
    DROVER_MODEL_BASE_URL: model.url,
    DROVER_MODEL_API_KEY: model.apiKey,
    ...settings,
  };
}
