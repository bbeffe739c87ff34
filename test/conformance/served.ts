import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { drover, environment, FROM_SOURCE } from "../support/drover.ts";

const API_KEY = "key-of-the-conformance-run";

type ServerEnvironment = Readonly<Record<string, string>> & { readonly DROVER_DATA: string };

export interface ServedOptions {
  /** For the server's environment. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whose folder and settings it shares, instead of those of its own. */
  readonly beside?: Served;
}

/** A server for as many scenarios as there are. */
export class Served {
  readonly apiKey = API_KEY;
  readonly url: string;
  readonly process: ChildProcess;
  readonly #env: ServerEnvironment;
  readonly #log: readonly string[];

  private constructor(
    url: string,
    process: ChildProcess,
    env: ServerEnvironment,
    log: readonly string[],
  ) {
    this.url = url;
    this.process = process;
    this.#env = env;
    this.#log = log;
  }

  /** What it has told its operator so far: lines of JSON. */
  get log(): string {
    return this.#log.join("");
  }

  /** Rejects with the server's log if it does not start. */
  static async start({ settings, beside }: ServedOptions = {}): Promise<Served> {
    const env = beside === undefined ? newEnvironment(settings) : beside.#env;
    const child = spawn(process.execPath, [...FROM_SOURCE, "serve"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: environment(env),
    });
    const log: string[] = [];
    child.stderr.on("data", (chunk) => log.push(String(chunk)));
    const line = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).once("line", resolve);
      child.once("exit", () => reject(new Error(`the server did not start:\n${log.join("")}`)));
    });
    return new Served(JSON.parse(line).url, child, env, log);
  }

  /** Stops the servers of the folder and their hands, and deletes it. */
  close(): void {
    drover(["stop", "--hands"], { env: this.#env });
    if (this.process.exitCode === null) this.process.kill("SIGKILL");
    rmSync(this.#env.DROVER_DATA, { recursive: true, force: true });
  }
}

function newEnvironment(settings: ServedOptions["settings"]): ServerEnvironment {
  const data = mkdtempSync(join(tmpdir(), "drover-conformance-"));
  return {
    DROVER_DATA: data,
    DROVER_PORT: "0",
    DROVER_API_KEY: API_KEY,
    // Where scenarios open servers of their own.
    DROVER_EGRESS_ALLOW: "127.0.0.1",
    // A failure that does not pass is retried to the end, half a minute by default.
    DROVER_MODEL_BACKOFF_MS: "50",
    DROVER_SKILLS: installSkill(join(data, "skills")),
    ...settings,
  };
}

/** A folder with one skill for all workspaces. */
function installSkill(folder: string): string {
  mkdirSync(join(folder, "xlsx"), { recursive: true });
  const document = "---\nname: xlsx\ndescription: Stands in for Anthropic's.\n---\n";
  writeFileSync(join(folder, "xlsx", "SKILL.md"), document);
  return folder;
}
