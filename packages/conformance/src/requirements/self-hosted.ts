import { type Requirement, requirements } from "../requirement.ts";

export const selfHosted: readonly Requirement[] = requirements({});
