import { type Requirement, requirements } from "../requirement.ts";

export const events: readonly Requirement[] = requirements({});
