import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

/**
 * Loaded into a server before its own code: on SIGUSR2 it tells on stdout how late its loop was since the
 * last time (milliseconds, 99th percentile), collects garbage and tells what is left.
 */
process.on("SIGUSR2", () => {
  const loopDelayMs = delay.percentile(99) / 1e6;
  // What the first collection finalizes, the second one frees.
  globalThis.gc?.();
  globalThis.gc?.();
  process.stdout.write(`${JSON.stringify({ ...process.memoryUsage(), loopDelayMs })}\n`);
  // The collection was ours.
  setImmediate(() => delay.reset());
});
