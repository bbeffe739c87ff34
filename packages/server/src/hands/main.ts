import type { Config } from "../config.ts";
import { armConfigured } from "../lib/arm-configured.ts";
import { networkMark } from "../serve/network-mark.ts";
import { composeHands } from "./compose.ts";
import { HANDS_RUNNING_EXIT_CODE } from "./protocol/hands-file.ts";
import { HandsRunningError, liveAsHands } from "./runtime/hands-life.ts";

/**
 * `drover hands`: runs until it is told to end by a signal or over its socket, or has no more business
 * to live. Where other hands run for the data folder it says so on stderr and sets the exit code
 * `HANDS_RUNNING_EXIT_CODE`, which tells whoever started it to look for those.
 */
export async function runHands({ config }: { readonly config: Config }): Promise<void> {
  armConfigured(config.test.failPoint, "hands");
  const ending = new AbortController();
  const end = () => ending.abort();
  const { idleMs, sparesMax, ...keeping } = config.sandboxLife;
  // Not `once`: a second signal must not kill what is ending its sandboxes.
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
  try {
    await liveAsHands({
      dataDir: config.data,
      openAdapters: () => composeHands(config),
      signal: ending.signal,
      network: networkMark(config),
      times: { sandboxIdleMs: idleMs },
      ...{ sparesMax, keeping },
      unsafeForgetCalls: config.test.unsafe.includes("journal"),
    });
    // Whatever still waits for a server, as the counts of credentials do, is for nobody any more.
    process.exit();
  } catch (error) {
    if (!(error instanceof HandsRunningError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = HANDS_RUNNING_EXIT_CODE;
  } finally {
    process.off("SIGTERM", end);
    process.off("SIGINT", end);
  }
}
