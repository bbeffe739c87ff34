import type { Scenario } from "../scenario.ts";

export const deployments: readonly Scenario[] = [];
