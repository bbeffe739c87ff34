/** Put in by the build; absent when the sources run as they are. */
declare const DROVER_VERSION: string | undefined;

export const VERSION = typeof DROVER_VERSION === "string" ? DROVER_VERSION : "0.0.0-source";
