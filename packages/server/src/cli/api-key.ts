import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newKey } from "../app/keys.ts";
import type { Config } from "../config.ts";
import { OperatorError } from "../lib/operator-error.ts";
import { Secret } from "../lib/secret.ts";

/** The key of the settings, else the one kept in the data folder, made at the first call. */
export function apiKeyFor(config: Pick<Config, "apiKey" | "data">): Secret {
  if (config.apiKey !== undefined) return config.apiKey;
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  const path = apiKeyPath(config.data);
  if (!existsSync(path)) makeKeyFile(path);
  const kept = readFileSync(path, "utf8").trim();
  if (kept.length < KEY_LENGTH_MIN) {
    throw new OperatorError(
      `The key file ${path} does not hold a key; delete it to have a new one made.`,
    );
  }
  return new Secret(kept);
}

const KEY_LENGTH_MIN = 16;

/** Whole or not at all: another server of the folder may be starting at the same moment. */
function makeKeyFile(path: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${newKey().reveal()}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(draft);
  }
}

export function apiKeyPath(data: string): string {
  return join(data, "api-key");
}
