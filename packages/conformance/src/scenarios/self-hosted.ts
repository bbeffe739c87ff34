import type { Scenario } from "../scenario.ts";

export const selfHosted: readonly Scenario[] = [];
