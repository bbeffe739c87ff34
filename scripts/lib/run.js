import { spawn, spawnSync } from "node:child_process";
import { ROOT } from "./paths.js";

/**
 * Runs a program to its end with its output shown. Resolves to its exit code; 127 if it could not be
 * started. A signal that ends this script ends the program too.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, timeoutMs?: number }} [options]
 * @returns {Promise<number>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? ROOT,
      env: options.env ?? process.env,
      stdio: "inherit",
    });
    const forward = (signal) => child.kill(signal);
    const signals = ["SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, forward);
    // The terminal sends SIGINT to the whole group; this script only has to outlive the child.
    process.on("SIGINT", ignore);
    const timer =
      options.timeoutMs === undefined
        ? undefined
        : setTimeout(() => child.kill("SIGKILL"), options.timeoutMs);
    const finish = (code) => {
      clearTimeout(timer);
      for (const signal of signals) process.off(signal, forward);
      process.off("SIGINT", ignore);
      resolve(code);
    };
    child.once("error", () => finish(127));
    child.once("exit", (code) => finish(code ?? 1));
  });
}

function ignore() {}

/**
 * Runs a program quietly.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, timeoutMs?: number }} [options]
 * @returns {{ ok: boolean, output: string }} its standard output and error, trimmed
 */
export function attempt(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: options.cwd ?? ROOT,
    env: options.env ?? process.env,
    encoding: "utf8",
    timeout: options.timeoutMs ?? 60_000,
  });
  const output = `${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}`;
  return { ok: result.status === 0, output: output.trim() };
}
