export * from "./client-events.ts";
export * from "./content.ts";
export * from "./errors.ts";
export * from "./session-events.ts";
