import { type Requirement, requirements } from "../requirement.ts";

export const agents: readonly Requirement[] = requirements({});
