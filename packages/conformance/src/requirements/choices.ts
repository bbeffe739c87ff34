import { type Requirement, requirements } from "../requirement.ts";

export const choices: readonly Requirement[] = requirements({});
