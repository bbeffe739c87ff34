import { type Requirement, requirements } from "../requirement.ts";

export const vaults: readonly Requirement[] = requirements({});
