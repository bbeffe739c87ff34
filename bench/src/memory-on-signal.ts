/** Loaded into a server before its own code: on SIGUSR2 it collects garbage and tells on stdout what is left. */
process.on("SIGUSR2", () => {
  // What the first collection finalizes, the second one frees.
  globalThis.gc?.();
  globalThis.gc?.();
  process.stdout.write(`${JSON.stringify(process.memoryUsage())}\n`);
});
