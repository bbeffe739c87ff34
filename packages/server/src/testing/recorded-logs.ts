import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LogEvent } from "../core/session/log-event.ts";

/** Logs as they were written once; sessions that look like them exist for ever. */
const FOLDER = join(import.meta.dirname, "../../../../test/fixtures/logs");

export function recordedLogs(): readonly { file: string; log: readonly LogEvent[] }[] {
  return readdirSync(FOLDER).map((file) => ({
    file,
    log: readFileSync(join(FOLDER, file), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as LogEvent),
  }));
}
