import { requirements } from "../requirement.ts";

export const dreams = requirements({
  "dreams.create": [
    "14",
    "A dream begins pending with sorted session ids, and completes with one memory store.",
  ],
  "dreams.cancel": [
    "14",
    "A dream is canceled or archived only in the states that allow it, newest first in lists.",
  ],
  "dreams.lock": [
    "14",
    "A second update_existing dream on a store is a conflict that is not retried.",
  ],
});
