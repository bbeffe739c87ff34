import { type Requirement, requirements } from "../requirement.ts";

export const streams: readonly Requirement[] = requirements({});
