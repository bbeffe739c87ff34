import type { Scenario } from "../scenario.ts";

export const sessions: readonly Scenario[] = [];
