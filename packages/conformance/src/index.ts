export { CHECKLIST } from "./checklist.ts";
export { isGreen, report } from "./report.ts";
export { REQUIREMENTS } from "./requirements.ts";
export { type Result, runScenario, runScenarios } from "./run.ts";
export { SCENARIOS } from "./scenarios.ts";
export { ENDPOINTS } from "./support/endpoints.ts";
export { type ResourceName, Resources } from "./support/resources.ts";
export { Target, type TargetOptions } from "./target.ts";
