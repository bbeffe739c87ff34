/** Requests to one agent at a time: it answers them one after another, and waits for none. */
const AT_ONCE = 8;

/** Does it for each, some at a time and in no order. Rejects as the first that does, or when aborted. */
export async function eachOf<T>(
  items: Iterable<T>,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
      signal.throwIfAborted();
      await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
