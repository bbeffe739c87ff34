import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { OperatorError } from "../../lib/operator-error.ts";

const LOG_TAIL_CHARACTERS = 2_000;

/** The server that the demo starts, kills and starts again, always on the same folder and port. */
export class DemoServer {
  readonly #data: string;
  #port: number;
  #child: ChildProcess | undefined;
  #url = "";
  #isAbandoned = false;

  constructor(data: string, port: number) {
    this.#data = data;
    this.#port = port;
  }

  get url(): string {
    return this.#url;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get logPath(): string {
    return join(this.#data, "server.log");
  }

  /** Resolves when it listens. Rejects with what it wrote if it ends before. */
  async start(): Promise<void> {
    if (this.#isAbandoned) throw new OperatorError("The demo was interrupted.");
    mkdirSync(this.#data, { recursive: true, mode: 0o700 });
    const log = openSync(this.logPath, "a", 0o600);
    const args = ["--data", this.#data, "--port", String(this.#port), "serve"];
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...args], {
      stdio: ["ignore", "pipe", log],
      // A group of its own, so that it outlives the terminal's Ctrl-C for the demo.
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    const line = await firstLine(child);
    if (line === undefined) {
      throw new OperatorError(`The server did not start:\n${this.#logTail()}`);
    }
    this.#url = String(new URL(JSON.parse(line).url).origin);
    this.#port = Number(new URL(this.#url).port);
    child.stdout?.destroy();
    child.unref();
  }

  /** `kill -9`: no handler runs, nothing is flushed, nobody is told. Resolves when it is dead. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const dead = new Promise((resolve) => child.once("exit", resolve));
    child.ref();
    child.kill("SIGKILL");
    await dead;
  }

  /** Kills it if it lives, also if it is only starting, and lets it not start again. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    await this.kill();
  }

  #logTail(): string {
    return readFileSync(this.logPath, "utf8").slice(-LOG_TAIL_CHARACTERS).trim();
  }
}

/** The wanted port if nobody has it, else 0. */
export async function freePort(wanted: number, host: string): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(0));
    probe.listen(wanted, host, () => probe.close(() => resolve(wanted)));
  });
}

function firstLine(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve(undefined));
    if (child.stdout !== null) createInterface(child.stdout).once("line", resolve);
  });
}
