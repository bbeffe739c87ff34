import type { Scenario } from "../scenario.ts";

export const skills: readonly Scenario[] = [];
