import type { Scenario } from "../scenario.ts";

export const files: readonly Scenario[] = [];
