import { type Requirement, requirements } from "../requirement.ts";

export const dreams: readonly Requirement[] = requirements({});
