import { type Requirement, requirements } from "../requirement.ts";

export const files: readonly Requirement[] = requirements({});
