import { type Requirement, requirements } from "../requirement.ts";

export const memoryStores: readonly Requirement[] = requirements({});
