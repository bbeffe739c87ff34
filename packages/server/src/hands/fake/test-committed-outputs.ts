import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { CommittedOutputs, type LineOf } from "../outputs/committed-outputs.ts";

/** In a folder that goes with the test. The returned function opens it, as one process after the other does. */
export function testCommittedOutputs(report: (event: string) => void = () => undefined) {
  const folder = mkdtempSync(join(tmpdir(), "drover-committed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const reopen = (lineOf: LineOf = () => 1) => new CommittedOutputs({ folder, lineOf, report });
  return { folder, reopen };
}
