import { type Requirement, requirements } from "../requirement.ts";

export const models: readonly Requirement[] = requirements({});
