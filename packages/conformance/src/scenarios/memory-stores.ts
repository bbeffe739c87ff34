import type { Scenario } from "../scenario.ts";

export const memoryStores: readonly Scenario[] = [];
