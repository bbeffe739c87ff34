/** Time, so that a test can run a week in a millisecond. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves at `atMs` or as soon as the signal is aborted, whichever is first. Never rejects. */
  sleepUntil(atMs: number, signal: AbortSignal): Promise<void>;
}
