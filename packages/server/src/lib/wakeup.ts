/** Lets one loop sleep until somebody notifies it; a notification while it is awake is not lost. */
export class Wakeup {
  #isNotified = false;
  #resume: (() => void) | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#resume?.();
  }

  /** Resolves at the next notification, or at once after one that nobody waited for. */
  async wait(): Promise<void> {
    if (!this.#isNotified) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    this.#resume = undefined;
    this.#isNotified = false;
  }
}
