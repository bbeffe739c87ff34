import { type Requirement, requirements } from "../requirement.ts";

export const outside: readonly Requirement[] = requirements({});
