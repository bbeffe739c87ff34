import type { Scenario } from "../scenario.ts";

export const dreams: readonly Scenario[] = [];
