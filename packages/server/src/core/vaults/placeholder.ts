/** What stands for a secret inside of a sandbox: of a length that never changes, and of no use to anybody. */
export const PLACEHOLDER_PREFIX = "drover-secret-";
export const PLACEHOLDER_LENGTH = PLACEHOLDER_PREFIX.length + 32;

/** Every placeholder in a text. */
export const PLACEHOLDERS = new RegExp(`${PLACEHOLDER_PREFIX}[a-z0-9]{32}`, "g");
