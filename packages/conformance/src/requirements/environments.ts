import { type Requirement, requirements } from "../requirement.ts";

export const environments: readonly Requirement[] = requirements({});
