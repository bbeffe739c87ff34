import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Anthropic from "@anthropic-ai/sdk";
import { type MessagesApi, startMessagesApi } from "@drover/testing";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { drover, environment, FROM_SOURCE } from "../../support/drover.ts";
import { handsPid, isStopped } from "./host.ts";
import { lastWords } from "./last-words.ts";
import { until } from "./until.ts";

const KEY = "test-key-of-this-server";

/** A server with its data folder, and the strict double of the model's API that it asks. */
export class World {
  readonly data = mkdtempSync(join(tmpdir(), "drover-system-"));
  readonly apiKey = KEY;
  readonly model: MessagesApi;
  readonly #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;
  #url = "";
  #pid = 0;
  #log: string[] = [];
  readonly #hands: ChildProcess[] = [];

  /** `settings` go into the environment of every server of this world. */
  constructor(model: MessagesApi, settings: Readonly<Record<string, string>> = {}) {
    this.model = model;
    this.#settings = settings;
  }

  get url(): string {
    return this.#url;
  }

  /** The official client, without retries of its own. */
  get client(): Anthropic {
    return new Anthropic({ baseURL: this.#url, apiKey: KEY, maxRetries: 0 });
  }

  /** Of the server itself, also where something else started it. */
  get pid(): number {
    return this.#pid;
  }

  /** Everything that the servers have written to stderr. */
  get log(): string {
    return this.#log.join("");
  }

  /** `wrapper` is put before the command, to run it somewhere else. */
  async start(wrapper: readonly string[] = []): Promise<void> {
    const [command = "", ...args] = [...wrapper, process.execPath, ...FROM_SOURCE, "serve"];
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: environment(this.#env()),
    });
    this.#process = child;
    child.stderr.on("data", (chunk) => this.#log.push(String(chunk)));
    const line = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).once("line", resolve);
      child.once("exit", () => reject(new Error(`the server did not start:\n${this.log}`)));
    });
    ({ url: this.#url, pid: this.#pid } = JSON.parse(line));
  }

  /**
   * Starts hands that die at a fail point, `name:nth`: a server passes none of it on to those it starts itself.
   * The world's former hands must have ended. Gives their process.
   */
  async startMortalHands(failPoint: string): Promise<number> {
    return await this.#startHands(failPoint, (pid) => handsPid(this) === pid);
  }

  /** The same with hands that stop there before anybody can find them, until they are told to go on. */
  async startStoppedHands(failPoint: string): Promise<number> {
    return await this.#startHands(`${failPoint}:stop`, isStopped);
  }

  async #startHands(failPoint: string, isStarted: (pid: number) => boolean): Promise<number> {
    const child = spawn(process.execPath, [...FROM_SOURCE, "hands"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: environment({ ...this.#env(), DROVER_TEST_FAIL_POINT: failPoint }),
    });
    this.#hands.push(child);
    child.stderr.on("data", (chunk) => this.#log.push(String(chunk)));
    const { pid = 0 } = child;
    await until("the hands", async () => {
      if (child.exitCode !== null) throw new Error(`the hands did not start:\n${this.log}`);
      return isStarted(pid) || undefined;
    });
    return pid;
  }

  /** Kills the server with signal 9; resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Stops the server and its hands, and deletes the folder. */
  async close(): Promise<void> {
    drover(["stop", "--hands"], { env: this.#env() });
    // Those that still stand still have no file by which they could be found.
    for (const hands of this.#hands) hands.kill("SIGKILL");
    await this.kill();
    await this.model.close();
    rmSync(this.data, { recursive: true, force: true });
  }

  #env(): Record<string, string> {
    return {
      ...this.#settings,
      DROVER_DATA: this.data,
      DROVER_PORT: "0",
      DROVER_API_KEY: KEY,
      DROVER_MODEL_BASE_URL: this.model.url,
      DROVER_MODEL_API_KEY: this.model.apiKey,
    };
  }
}

/**
 * A world for all tests of a file. Whatever they do, no request may have been one that the real API
 * would have refused.
 */
export function useWorld(settings: Readonly<Record<string, string>> = {}): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    world = new World(await startMessagesApi({ script: lastWords() }), settings);
    await world.start();
  });
  afterAll(async () => {
    const refusals = [...(world?.model.refusals ?? [])];
    await world?.close();
    expect(refusals).toEqual([]);
  });
  return () => {
    if (world === undefined) throw new Error("there is no world outside of a test");
    return world;
  };
}

/** A world for one test alone, which is still to be started: of what others do nothing can be met. */
export async function newWorld(settings: Readonly<Record<string, string>> = {}): Promise<World> {
  const world = new World(await startMessagesApi({ script: lastWords() }), settings);
  onTestFinished(async () => {
    const refusals = [...world.model.refusals];
    await world.close();
    expect(refusals).toEqual([]);
  });
  return world;
}
