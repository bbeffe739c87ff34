import { existsSync, readFileSync } from "node:fs";

/**
 * What a vitest run came to, from its JSON report. A file that could not even be loaded has no tests,
 * and counts as one that failed. No report at all means that the run itself broke.
 *
 * @param {string} path of the report
 * @param {number} exitCode of vitest
 * @returns {{ passed: number, failed: number, skipped: number }}
 */
export function readVitestReport(path, exitCode) {
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(readFileSync(path, "utf8"));
  const unloaded = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.every(hasNotFailed),
  ).length;
  const failed = report.numFailedTests + unloaded;
  // An error outside any test, such as an unhandled rejection, shows only in the exit code.
  const outside = exitCode !== 0 && failed === 0 ? 1 : 0;
  return {
    passed: report.numPassedTests,
    failed: failed + outside,
    skipped: report.numPendingTests + (report.numTodoTests ?? 0),
  };
}

function hasNotFailed(test) {
  return test.status !== "failed";
}
