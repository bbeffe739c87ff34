import type { ModelUsage } from "../core/ports/model.ts";

/**
 * What the model requests that run here have reported so far. It is only needed for those that are
 * given up: an answered one says it again with its end.
 */
export class ReportedUsage {
  readonly #byRequest = new Map<string, ModelUsage>();

  of(requestId: string): ModelUsage | undefined {
    return this.#byRequest.get(requestId);
  }

  report(requestId: string, usage: ModelUsage): void {
    // A thread has one request at a time, so there are never more than a few.
    this.#byRequest.set(requestId, usage);
  }

  forget(requestId: string): void {
    this.#byRequest.delete(requestId);
  }
}
