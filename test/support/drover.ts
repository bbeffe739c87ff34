import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

/** The program from its sources. */
export const FROM_SOURCE: readonly string[] = [
  "--conditions=drover-source",
  join(import.meta.dirname, "../../packages/server/src/cli/main.ts"),
];

export interface StartedServer {
  readonly url: string;
  readonly apiKey: string;
  readonly data: string;
  readonly process: ChildProcess;
}

export interface StartOptions {
  /** Arguments of Node that name the program; from its sources unless given. */
  readonly program?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** After which a command of `drover` is killed. */
  readonly timeoutMs?: number;
}

/** Runs a command of the program to its end. */
export function drover(
  args: readonly string[],
  options: StartOptions = {},
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [...(options.program ?? FROM_SOURCE), ...args], {
    encoding: "utf8",
    cwd: options.cwd,
    env: environment(options.env),
    timeout: options.timeoutMs ?? 120_000,
  });
}

/** The same without blocking this process, for a command that talks to something in it. */
export function droverBeside(
  args: readonly string[],
  options: StartOptions = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...(options.program ?? FROM_SOURCE), ...args],
      {
        cwd: options.cwd,
        env: environment(options.env),
        timeout: options.timeoutMs ?? 120_000,
      },
      (_, stdout, stderr) => resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}

/**
 * Starts a server on a folder and a port of its own. It and its hands are stopped, and the folder is
 * deleted, when the test ends.
 */
export async function startServer(options: StartOptions = {}): Promise<StartedServer> {
  const data = temporaryFolder();
  const apiKey = "test-key-of-this-server";
  const env = { DROVER_DATA: data, DROVER_PORT: "0", DROVER_API_KEY: apiKey, ...options.env };
  const child = spawn(process.execPath, [...(options.program ?? FROM_SOURCE), "serve"], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: options.cwd,
    env: environment(env),
  });
  onTestFinished(async () => {
    drover(["stop", "--hands"], { ...options, env });
    if (child.exitCode === null) child.kill("SIGKILL");
  });
  const log: string[] = [];
  child.stderr.on("data", (chunk) => log.push(String(chunk)));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("exit", () => reject(new Error(`the server did not start:\n${log.join("")}`)));
  });
  return { url: JSON.parse(line).url, apiKey, data, process: child };
}

/** A folder that is deleted when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** This machine's, without settings that would change what is tested. */
export function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => name === "DROVER_BWRAP" || !/^(DROVER|ANTHROPIC)_/.test(name),
  );
  return { ...Object.fromEntries(own), ...more };
}
