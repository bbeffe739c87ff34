import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { kill } from "./processes.ts";
import type { World } from "./world.ts";

const LOG_TAIL_CHARS = 2_000;

/** One life of a server, from its start to its death. */
export class ServerLife {
  readonly pid: number;
  readonly url: string;
  /** True once it listens; false if it ended before that. */
  readonly listening: Promise<boolean>;
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #logFile: string;

  /** `failPoint` is the setting of that name, empty for none. */
  constructor(world: World, port: number, failPoint: string) {
    if (world.isClosed) throw new Error("the campaign was stopped");
    this.#logFile = join(world.folder, "serve.log");
    this.url = `http://127.0.0.1:${port}`;
    const log = openSync(this.#logFile, "a");
    const armed = failPoint === "" ? {} : { DROVER_TEST_FAIL_POINT: failPoint };
    const child = spawn(process.execPath, [...world.program.args, "serve"], {
      cwd: world.folder,
      stdio: ["ignore", "pipe", log],
      env: world.env({ DROVER_PORT: String(port), ...armed }),
    });
    closeSync(log);
    const { pid, stdout } = child;
    if (pid === undefined || stdout === null) throw new Error("the server could not be run");
    this.#child = child;
    this.pid = pid;
    this.ended = new Promise((resolve) => child.once("exit", () => resolve()));
    this.listening = new Promise((resolve) => {
      createInterface(stdout).once("line", () => resolve(true));
      child.once("exit", () => resolve(false));
    });
  }

  get isEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** True if SIGKILL ended it, from wherever. */
  get isKilled(): boolean {
    return this.#child.signalCode === "SIGKILL";
  }

  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (!this.isEnded) kill(this.pid, signal);
    await this.ended;
  }

  logTail(): string {
    return readFileSync(this.#logFile, "utf8").slice(-LOG_TAIL_CHARS);
  }
}
