import { type Requirement, requirements } from "../requirement.ts";

export const endpoints: readonly Requirement[] = requirements({});
