export { CHECKLIST } from "./checklist.ts";
export { isGreen, report } from "./report.ts";
export { REQUIREMENTS } from "./requirements.ts";
export { type Result, runScenario, runScenarios } from "./run.ts";
export { SCENARIOS } from "./scenarios.ts";
export { Target, type TargetOptions } from "./target.ts";
