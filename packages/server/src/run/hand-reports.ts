import type { KeptFiles } from "../core/ports/checkpoints.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { HandReport } from "../core/ports/hand-records.ts";
import type { Store } from "../core/ports/store.ts";
import type { FailPoint } from "../lib/fail-point.ts";
import type { DriveLog } from "./deps.ts";

export interface HandReportsDeps {
  readonly store: Pick<Store, "write">;
  readonly hands: KeptFiles;
  readonly clock: Clock;
  /** Where a test may end the process. */
  readonly failPoint: (name: FailPoint) => void;
  readonly log: DriveLog;
}

const LOOK_MS = 5_000;

/**
 * Commits what hands tell of the files of idle sandboxes, until the signal is aborted. What was committed
 * and not acknowledged is told and committed again, which changes nothing. Rejects if the store fails; may be called
 * again.
 */
export async function commitHandReports(deps: HandReportsDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const count = await commitSome(deps);
    if (count === 0) await deps.clock.sleepUntil(deps.clock.now() + LOOK_MS, signal);
  }
}

/** Answers how many there were. */
export async function commitSome(deps: HandReportsDeps): Promise<number> {
  const reports = await deps.hands.reports();
  for (const report of reports) await commit(report, deps);
  return reports.length;
}

async function commit(report: HandReport, deps: HandReportsDeps): Promise<void> {
  const { store, hands, failPoint, log } = deps;
  const { hand_id, problem } = report;
  failPoint("serve.report.before");
  await store.write((tx) => tx.hands.report(report));
  failPoint("serve.report.after");
  if (problem !== null) log.error({ hand_id, problem }, "the files of a sandbox are not kept");
  await hands.acknowledge(report);
}
