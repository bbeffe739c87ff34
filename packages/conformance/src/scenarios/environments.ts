import type { Scenario } from "../scenario.ts";

export const environments: readonly Scenario[] = [];
