import { type Requirement, requirements } from "../requirement.ts";

export const sessions: readonly Requirement[] = requirements({});
