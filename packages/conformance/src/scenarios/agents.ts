import type { Scenario } from "../scenario.ts";

export const agents: readonly Scenario[] = [];
