import type { Scenario } from "../scenario.ts";

export const events: readonly Scenario[] = [];
