import { destination, type Logger, pino } from "pino";
import type { Config } from "../config.ts";

/** One line of JSON an event, on stderr: stdout is for what a program that started this one reads. */
export function createLogger(config: Pick<Config, "logLevel">): Logger {
  return pino({ level: config.logLevel, base: null }, destination({ dest: 2, sync: true }));
}
