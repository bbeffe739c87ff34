import { type Requirement, requirements } from "../requirement.ts";

export const deployments: readonly Requirement[] = requirements({});
