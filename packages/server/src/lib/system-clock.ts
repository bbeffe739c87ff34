/** `setTimeout` takes no more than 2^31-1 milliseconds; longer waits are slept in pieces. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The machine's own time, in the form of the `Clock` port. */
export const systemClock = {
  now: (): number => Date.now(),
  sleepUntil: async (atMs: number, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const leftMs = atMs - Date.now();
      if (leftMs <= 0) return;
      await timeout(Math.min(leftMs, TIMER_MS_MAX), signal);
    }
  },
};

function timeout(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
