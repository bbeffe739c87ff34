import { existsSync, readFileSync } from "node:fs";

/** Of what a test failed with: its sentence and where it was, without what a diff may add for pages. */
const MESSAGE_LINES = 30;

/**
 * What a vitest run came to, from its JSON report. A file that could not even be loaded has no tests,
 * and counts as one that failed. No report at all means that the run itself broke.
 *
 * @param {string} path of the report
 * @param {number} exitCode of vitest
 * @returns {import("./stages.js").Count}
 */
export function readVitestReport(path, exitCode) {
  const broke = { passed: 0, failed: 1, skipped: 0, failures: ["The run itself broke."] };
  if (!existsSync(path)) return broke;
  const report = JSON.parse(readFileSync(path, "utf8"));
  const failures = report.testResults.flatMap(failuresIn);
  // An error outside any test, such as an unhandled rejection, shows only in the exit code.
  if (exitCode !== 0 && failures.length === 0) failures.push("An error outside any test.");
  return {
    passed: report.numPassedTests,
    failed: failures.length,
    skipped: report.numPendingTests + (report.numTodoTests ?? 0),
    failures,
  };
}

function failuresIn({ name, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (failed.length === 0) return status === "failed" ? [`${name}\n${cut(message ?? "")}`] : [];
  return failed.map(
    ({ fullName, failureMessages = [] }) =>
      `${name}: ${fullName}\n${cut(failureMessages.join("\n"))}`,
  );
}

function cut(text) {
  return text.split("\n").slice(0, MESSAGE_LINES).join("\n");
}
