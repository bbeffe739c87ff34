import type { Clock } from "../core/ports/clock.ts";

/** A clock that jumps to whatever is waited for, so that a week of back-off takes no time. */
export function impatientClock(startMs = Date.UTC(2026, 0, 1)): Clock {
  let nowMs = startMs;
  return {
    now: () => {
      nowMs += 1;
      return nowMs;
    },
    sleepUntil: async (atMs) => {
      nowMs = Math.max(nowMs, atMs);
    },
  };
}
