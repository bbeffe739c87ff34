import {
  CHECKLIST,
  isGreen,
  REQUIREMENTS,
  report,
  runScenarios,
  SCENARIOS,
  Target,
} from "drover-conformance";
import { expect } from "vitest";

/** Milliseconds that a whole run may take. */
export const CONFORMANCE_MS = 240_000;

/** Runs every scenario against a server of this repository; prints the table, and wants all of it run. */
export async function runConformance(server: { url: string; apiKey: string }): Promise<void> {
  const target = new Target({
    baseUrl: server.url,
    apiKey: server.apiKey,
    model: "offline/script",
    isScripted: true,
  });
  const start = performance.now();
  const results = await runScenarios(target, SCENARIOS);
  const seconds = (performance.now() - start) / 1000;
  const text = report({ requirements: REQUIREMENTS, checklist: CHECKLIST, results, seconds });
  process.stdout.write(`${text}\n`);
  expect(isGreen(results), text).toBe(true);
}
