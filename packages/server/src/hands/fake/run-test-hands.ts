import { armFailPoint, type FailPointPlan } from "../../lib/fail-point.ts";
import { HANDS_RUNNING_EXIT_CODE } from "../protocol/hands-file.ts";
import { type HandsLifeOptions, HandsRunningError, liveAsHands } from "../runtime/hands-life.ts";
import type { HandsAdapters } from "../runtime/hands-parts.ts";

/** What a test says to its hands process, as JSON in the one argument. */
export interface TestHandsOptions
  extends Pick<HandsLifeOptions, "dataDir" | "times" | "keeping" | "unsafeForgetCalls"> {
  readonly failPoint?: FailPointPlan;
}

/** `drover hands` as a test wants it: with other adapters and times. What it reports goes to stderr. */
export async function runTestHands(
  { failPoint, ...options }: TestHandsOptions,
  openAdapters: () => Promise<Omit<HandsAdapters, "report">>,
): Promise<void> {
  const ending = new AbortController();
  process.once("SIGTERM", () => ending.abort());
  armFailPoint(failPoint);
  const report: HandsAdapters["report"] = (event, { error, ...fields }) => {
    const problem = error instanceof Error ? { ...fields, error: error.stack } : fields;
    process.stderr.write(`${event} ${JSON.stringify(problem)}\n`);
  };
  try {
    await liveAsHands({
      ...options,
      openAdapters: async () => ({ ...(await openAdapters()), report }),
      signal: ending.signal,
    });
  } catch (error) {
    process.exitCode = error instanceof HandsRunningError ? HANDS_RUNNING_EXIT_CODE : 1;
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
}
