import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { acquireFileLock } from "../lib/file-lock.ts";
import { type Finding, fault, findingLine, good, limit } from "./doctor-finding.ts";
import { askModels, examineModels } from "./doctor-models.ts";
import { examineSandbox } from "./doctor-sandbox.ts";
import { failureSentence } from "./failure.ts";
import { findServers } from "./server-file.ts";

export interface Examination {
  readonly lines: readonly string[];
  /** False if something that the server needs is missing. */
  readonly isHealthy: boolean;
}

const FREE_BYTES_MIN = 1024 ** 3;

/** Finds out by trying what this machine can do for Drover, and leaves nothing behind. Nobody else is asked but by `asks`. */
export async function examine(
  config: Config,
  asks: { readonly models: boolean } = { models: false },
): Promise<Examination> {
  const findings = [good("node", `${process.version} on ${process.platform} ${process.arch}`)];
  const folder = makeFolder(config, findings);
  if (folder !== undefined) {
    try {
      findings.push(examineLock(folder), ...examineBubblewrap(config));
      findings.push(...(await examineSandbox(config, folder)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  findings.push(...examineModels(config));
  if (asks.models) findings.push(...(await askModels(config)));
  findings.push(await examineServer(config));
  return {
    lines: findings.map(findingLine),
    isHealthy: findings.every(({ verdict }) => verdict !== "fault"),
  };
}

/** A folder in the data folder, so that what is tried is what the server would meet. */
function makeFolder(config: Config, findings: Finding[]): string | undefined {
  try {
    mkdirSync(config.data, { recursive: true, mode: 0o700 });
    accessSync(config.data, constants.R_OK | constants.W_OK | constants.X_OK);
    const folder = mkdtempSync(join(config.data, "doctor-"));
    const { bavail, bsize } = statfsSync(config.data);
    const space = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GB free in ${config.data}`;
    const isEnough = bavail * bsize >= FREE_BYTES_MIN;
    findings.push(
      isEnough ? good("data", space) : limit("data", `only ${space}; make room before it fills up`),
    );
    return folder;
  } catch (error) {
    findings.push(fault("data", failureSentence(error)));
    return undefined;
  }
}

function examineLock(folder: string): Finding {
  try {
    acquireFileLock(join(folder, "try.lock"))?.release();
    return good("sqlite", "opens files and locks them");
  } catch (error) {
    return fault("sqlite", failureSentence(error));
  }
}

function examineBubblewrap(config: Config): Finding[] {
  if (!config.sandboxProviders.names.includes("bubblewrap")) return [];
  return [bubblewrap(config)];
}

function bubblewrap(config: Config): Finding {
  const program = config.bwrapPath ?? "bwrap";
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
  if (status === 0) return good("bubblewrap", `${stdout.trim()} (${program})`);
  return fault(
    "bubblewrap",
    `${program} does not run; as root, run: apt-get install bubblewrap, or set DROVER_BWRAP to its path`,
  );
}

async function examineServer(config: Config): Promise<Finding> {
  const servers = await findServers(config.data);
  const places = servers.map(({ url, pid }) => `${url} (process ${pid})`).join(", ");
  return good("server", places === "" ? `none runs for ${config.data}` : `runs at ${places}`);
}
