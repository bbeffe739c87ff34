import type { Scenario } from "../scenario.ts";

export const models: readonly Scenario[] = [];
