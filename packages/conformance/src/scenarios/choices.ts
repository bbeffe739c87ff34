import type { Scenario } from "../scenario.ts";

export const choices: readonly Scenario[] = [];
