import type { Scenario } from "../scenario.ts";

export const outside: readonly Scenario[] = [];
