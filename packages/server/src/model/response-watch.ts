/** Milliseconds and bytes. */
export interface WatchLimits {
  /** Without a byte, pings included. */
  readonly silenceMs: number;
  /** With nothing but pings. */
  readonly stalledMs: number;
  /** For the whole response. */
  readonly totalMs: number;
  /** Of the response's body, decoded. */
  readonly maxBytes: number;
}

/** For every API alike, unless the settings say otherwise. */
export const WATCH_LIMITS: WatchLimits = {
  silenceMs: 120_000,
  stalledMs: 10 * 60_000,
  totalMs: 60 * 60_000,
  // A response of 128,000 tokens is about 20 MB of events where each token is an event of its own.
  maxBytes: 64 * 1024 * 1024,
};
/** Why a response was cut by us. */
export interface Cut {
  readonly message: string;
  /** Asking again may help. */
  readonly retryable: boolean;
}

/**
 * Cuts a response that is silent, stalled, endless or too large, and passes the caller's abort on.
 * One timer for all limits: what arrives only notes the time, which costs nothing per delta.
 */
export class ResponseWatch {
  readonly #limits: WatchLimits;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #startedAt = performance.now();
  #lastByteAt = this.#startedAt;
  #lastEventAt = this.#startedAt;
  #bytes = 0;
  #cut: Cut | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: WatchLimits, outer: AbortSignal) {
    this.#limits = limits;
    this.#outer = outer;
    if (outer.aborted) this.#controller.abort();
    else outer.addEventListener("abort", this.#onAbort, { once: true });
    this.#check();
  }

  /** Aborted by the caller's signal, or because a limit was passed: then `cut` says which. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get cut(): Cut | undefined {
    return this.#cut;
  }

  /** An event that is not a ping. */
  sawEvent(): void {
    this.#lastEventAt = performance.now();
  }

  /** The response with its bytes counted on the way; for `fetch`'s answers. */
  counted(response: Response): Response {
    if (response.body === null) return response;
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        this.#sawBytes(value.byteLength);
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = () => this.#controller.abort();

  #sawBytes(count: number): void {
    this.#lastByteAt = performance.now();
    this.#bytes += count;
    if (this.#bytes <= this.#limits.maxBytes) return;
    const message = `The model's response is larger than ${this.#limits.maxBytes} bytes.`;
    this.#end({ message, retryable: false });
  }

  #check(): void {
    const { silenceMs, stalledMs, totalMs } = this.#limits;
    const deadlines = [
      { at: this.#lastByteAt + silenceMs, message: `The model was silent for ${silenceMs} ms.` },
      {
        at: this.#lastEventAt + stalledMs,
        message: `The model sent nothing but pings for ${stalledMs} ms.`,
      },
      { at: this.#startedAt + totalMs, message: `The response took longer than ${totalMs} ms.` },
    ];
    const now = performance.now();
    const passed = deadlines.find(({ at }) => at <= now);
    if (passed !== undefined) {
      this.#end({ message: passed.message, retryable: true });
      return;
    }
    const next = Math.min(...deadlines.map(({ at }) => at));
    this.#timer = setTimeout(() => this.#check(), Math.ceil(next - now));
  }

  #end(cut: Cut): void {
    this.#cut ??= cut;
    this.#controller.abort();
  }
}
