import { expect, test } from "vitest";
import { CHECKLIST } from "./checklist.ts";
import { isGreen, report } from "./report.ts";
import { requirements } from "./requirement.ts";
import { runScenarios } from "./run.ts";
import { type ScenarioOptions, scenario } from "./scenario.ts";
import { Target } from "./target.ts";

const target = new Target({
  baseUrl: "http://localhost:1",
  apiKey: "key",
  model: "model",
  isScripted: false,
});

const passes = async () => undefined;
const fails = async () => {
  throw new Error("it answered 500");
};

async function outcomeOf(options: Omit<ScenarioOptions, "verifies">, run: () => Promise<void>) {
  const [result] = await runScenarios(target, [
    scenario("a name", { verifies: ["a.b"], ...options }, run),
  ]);
  return result?.outcome;
}

test("a scenario passes or fails", async () => {
  expect(await outcomeOf({}, passes)).toBe("passed");
  expect(await outcomeOf({}, fails)).toBe("failed");
});

test("a deferred scenario must fail", async () => {
  expect(await outcomeOf({ deferred: "not built" }, fails)).toBe("deferred");
  expect(await outcomeOf({ deferred: "not built" }, passes)).toBe("unclaimed");
});

test("a scenario without what it needs is not run", async () => {
  expect(await outcomeOf({ needs: ["scripted-model"] }, fails)).toBe("not_run");
});

test("the report says what failed, by section and by row, and is red for an unclaimed pass", async () => {
  const sentences = requirements({ "a.b": ["3.2", "It works."], "c.d": ["4", "It works too."] });
  const results = await runScenarios(target, [
    scenario("it works", { verifies: ["a.b"], rows: [11] }, fails),
    scenario("it works too", { verifies: ["c.d"], rows: [24] }, passes),
  ]);
  const text = report({ requirements: sentences, checklist: CHECKLIST, results, seconds: 1 });
  expect(text).toContain("it answered 500");
  expect(text).toMatch(/^3 +Agents +0 +1 +0 +0$/m);
  expect(text).toMatch(/^4 +Environments +1 +0 +0 +0$/m);
  expect(text).toMatch(/^✗ +11 core/m);
  expect(text).toMatch(/^✓ +24 core/m);
  expect(text).toContain("2 requirements: 1 hold, 1 do not, 0 deferred, 0 not run; 2 scenarios");
  expect(isGreen(results)).toBe(false);
  const unclaimed = await runScenarios(target, [
    scenario("early", { verifies: ["a.b"], deferred: "not built" }, passes),
  ]);
  expect(isGreen(unclaimed)).toBe(false);
});
