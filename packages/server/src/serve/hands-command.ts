import type { Config } from "../config.ts";
import { packageRegistryVariables } from "../config-packages.ts";
import { sandboxLifeVariables, sandboxLimitVariables } from "../config-sandbox.ts";
import { sandboxProviderVariables } from "../config-sandbox-providers.ts";
import type { SpawnHandsOptions } from "./spawn-hands.ts";

/** What any program needs to run at all; no secret of the server is in it. */
const PASSED_ON = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "NODE_EXTRA_CA_CERTS"];

/**
 * How the server starts its hands: the same program, with the settings that matter to them, the key of
 * the search provider among them, for they are who searches, and the encryption keys, for they are who uses
 * the tokens of repositories. They get no model key and no API key, and nothing else of the server's
 * environment.
 */
export function handsCommand(
  config: Config,
  self: { execPath: string; execArgv: readonly string[]; script: string },
  environment: Readonly<Record<string, string | undefined>>,
): SpawnHandsOptions {
  const env: Record<string, string> = {
    DROVER_DATA: config.data,
    DROVER_LOG_LEVEL: config.logLevel,
    DROVER_SANDBOX_NETWORK: config.sandboxNetwork,
    ...sandboxProviderVariables(config.sandboxProviders),
    ...sandboxLimitVariables(config.sandboxLimits),
    ...sandboxLifeVariables(config.sandboxLife),
    ...packageRegistryVariables(config.packageRegistries),
  };
  if (config.bwrapPath !== undefined) env["DROVER_BWRAP"] = config.bwrapPath;
  if (config.secretsFolder !== undefined) env["DROVER_SECRETS_FOLDER"] = config.secretsFolder;
  if (config.secretsCommand !== undefined) env["DROVER_SECRETS_COMMAND"] = config.secretsCommand;
  if (config.egressAllow.length > 0) env["DROVER_EGRESS_ALLOW"] = config.egressAllow.join(",");
  if (config.search !== undefined) {
    env["DROVER_SEARCH_PROVIDER"] = config.search.provider;
    env["DROVER_SEARCH_URL"] = config.search.url;
    if (config.search.key) env["DROVER_SEARCH_API_KEY"] = config.search.key.reveal();
  }
  if (config.encryptionKeys !== undefined) {
    env["DROVER_ENCRYPTION_KEY"] = config.encryptionKeys.map((key) => key.reveal()).join(",");
  }
  if (config.test.unsafe.length > 0) env["DROVER_TEST_UNSAFE"] = config.test.unsafe.join(",");
  for (const name of PASSED_ON) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  return {
    dataDir: config.data,
    command: self.execPath,
    args: [...self.execArgv, self.script, "hands"],
    env,
  };
}
