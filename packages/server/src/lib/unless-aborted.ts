/**
 * The promise's outcome, or a rejection with `error()` as soon as the signal is aborted. Leaves no
 * listener behind, so that the signal may live for ever.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  error: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(error());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
