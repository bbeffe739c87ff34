import { type Requirement, requirements } from "../requirement.ts";

export const skills: readonly Requirement[] = requirements({});
