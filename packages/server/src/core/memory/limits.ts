/** Memories that a store may have. */
export const MEMORIES_MAX = 2_000;

/** Memory stores that a session may have. */
export const MEMORY_STORES_MAX = 8;
