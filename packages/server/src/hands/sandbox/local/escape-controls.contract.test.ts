import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { testControls } from "./escapes.testsuite.ts";

// Nobody else may do all that a sandbox must not.
describe.skipIf(process.getuid?.() !== 0)("escape probes get what they ask for on", () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-controls-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  testControls(() => folder);
});
