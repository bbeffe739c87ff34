import type { Config } from "../config.ts";
import type { SpawnHandsOptions } from "./spawn-hands.ts";

/**
 * How the server starts its hands: the same program, with the settings that matter to them. They get
 * no model key and no API key, and nothing else of the server's environment.
 */
export function handsCommand(
  config: Config,
  self: { execPath: string; execArgv: readonly string[]; script: string },
  passedOn: Readonly<Record<string, string>>,
): SpawnHandsOptions {
  const env: Record<string, string> = {
    ...passedOn,
    DROVER_DATA: config.data,
    DROVER_LOG_LEVEL: config.logLevel,
  };
  if (config.bwrapPath !== undefined) env["DROVER_BWRAP"] = config.bwrapPath;
  if (config.test.unsafe.length > 0) env["DROVER_TEST_UNSAFE"] = config.test.unsafe.join(",");
  return {
    dataDir: config.data,
    command: self.execPath,
    args: [...self.execArgv, self.script, "hands"],
    env,
  };
}
