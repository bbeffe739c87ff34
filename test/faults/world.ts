import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessagesApi } from "@drover/testing";
import type { Program } from "./program.ts";

export type Safeguard = "fence" | "journal" | "reattach";

export interface WorldOptions {
  readonly name: string;
  readonly program: Program;
  readonly double: MessagesApi;
  readonly unsafe: Safeguard | undefined;
  /** Of a PostgreSQL database of its own; a file in its folder unless given. */
  readonly databaseUrl: string | undefined;
}

const PATIENCE_MS = 60_000;
/** Without a safeguard something may well be stuck, and that is soon known. */
const UNSAFE_PATIENCE_MS = 8_000;

/** One installation: its data folder and what its processes are started with. */
export class World {
  readonly name: string;
  readonly folder: string;
  readonly data: string;
  readonly databaseUrl: string | undefined;
  /** The deaths of its hands to come, see `program.js`. */
  readonly deaths: string;
  readonly program: Program;
  /** A session that is not idle after so many milliseconds is stuck, and so is a silent server. */
  readonly patienceMs: number;
  readonly apiKey = "key-of-the-fault-campaign";
  readonly #env: NodeJS.ProcessEnv;
  #isClosed = false;

  constructor({ name, program, double, unsafe, databaseUrl }: WorldOptions) {
    this.name = name;
    this.program = program;
    this.databaseUrl = databaseUrl;
    this.patienceMs = unsafe === undefined ? PATIENCE_MS : UNSAFE_PATIENCE_MS;
    this.folder = mkdtempSync(join(tmpdir(), "drover-faults-"));
    this.data = join(this.folder, "data");
    this.deaths = join(this.folder, "deaths");
    mkdirSync(this.data, { mode: 0o700 });
    mkdirSync(this.deaths);
    const own = Object.entries(process.env).filter(
      ([variable]) => variable === "DROVER_BWRAP" || !/^(DROVER|ANTHROPIC)_/.test(variable),
    );
    this.#env = {
      ...Object.fromEntries(own),
      DROVER_DATA: this.data,
      DROVER_DATABASE: databaseUrl ?? "sqlite",
      DROVER_API_KEY: this.apiKey,
      DROVER_LOG_LEVEL: "info",
      // The workspaces are folders of the host, which snapshots look into.
      DROVER_SANDBOX_DISK_MB: "0",
      // Sandboxes end between the turns, and their files are kept.
      DROVER_SANDBOX_IDLE_SECONDS: "1",
      DROVER_MODEL_BASE_URL: double.url,
      DROVER_MODEL_API_KEY: double.apiKey,
      ...(unsafe !== undefined && { DROVER_TEST_UNSAFE: unsafe }),
    };
  }

  env(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
    return { ...this.#env, ...more };
  }

  /** No server can be started in it any more. */
  close(): void {
    this.#isClosed = true;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const LOWEST_PORT = 20_000;
/** Where the kernel begins to give ports to those who connect, as clients of a dead server do. */
const EPHEMERAL_PORT = 32_768;

/** A port that stays free while its server is dead. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (EPHEMERAL_PORT - LOWEST_PORT));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
