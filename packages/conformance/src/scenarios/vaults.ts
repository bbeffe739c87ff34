import type { Scenario } from "../scenario.ts";

export const vaults: readonly Scenario[] = [];
