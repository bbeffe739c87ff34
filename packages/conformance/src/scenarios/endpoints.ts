import type { Scenario } from "../scenario.ts";

export const endpoints: readonly Scenario[] = [];
