import type { Scenario } from "../scenario.ts";

export const streams: readonly Scenario[] = [];
