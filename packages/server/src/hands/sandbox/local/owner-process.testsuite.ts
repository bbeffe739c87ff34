import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ProviderWorld } from "./installation-world.ts";

const FAIL_POINTS = pathToFileURL(join(import.meta.dirname, "../../../lib/fail-point.ts")).href;

export interface OwnerScript {
  /**
   * Has `provider` of the world's installation, `recipe` without mounts and a network, `signal`, `dataFolder`,
   * `args` and `armFailPoint`.
   */
  readonly script: string;
  readonly args?: readonly string[];
  /** Of the provider; JSON. */
  readonly options?: object;
}

/** Starts a process of its own that owns sandboxes of the installation. Its output is a pipe. */
export function startOwner(
  { code, folder, provider }: ProviderWorld,
  { script, args = [], options = {} }: OwnerScript,
): ChildProcess {
  const name = provider.names[0];
  const whole = `
const { armFailPoint } = await import(${JSON.stringify(FAIL_POINTS)});
const [dataFolder, ...args] = process.argv.slice(1);
const blobPath = (_, sha256) => dataFolder + "/" + sha256;
const options = { dataFolder, blobPath, ...${JSON.stringify(options)} };
${code}
const { signal } = new AbortController();
const recipe = { provider: ${JSON.stringify(name)}, base: { type: "host" }, mounts: [], network: { type: "none" } };
${script}
`;
  const node = ["--conditions=drover-source", "--input-type=module", "-e", whole, folder, ...args];
  return spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
}

/** Resolves when it has said something. Rejects if it ends before. */
export async function heard(owner: ChildProcess): Promise<void> {
  await new Promise((resolve, reject) => {
    owner.stdout?.once("data", resolve);
    owner.once("exit", () => reject(new Error("the owner ended early")));
  });
}

/** The signal that it ended by. */
export async function endedBy(owner: ChildProcess): Promise<NodeJS.Signals | null> {
  if (owner.signalCode !== null || owner.exitCode !== null) return owner.signalCode;
  return await new Promise((resolve) => owner.once("exit", (_, signal) => resolve(signal)));
}
