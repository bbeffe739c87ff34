import type { IncomingMessage } from "node:http";

export interface BodyLimits {
  /** Of one message: a whole body, or one event of a stream. */
  readonly messageBytesMax: number;
  /** Of a whole stream of events. */
  readonly streamBytesMax: number;
}

const EVENT_STREAM = /^\s*text\/event-stream\b/i;
const [LF, CR] = [10, 13];

/**
 * The body of a response as the SDK reads it, which gives up on one that is larger than it may be. `onEnd` is told
 * once nothing more comes, whether it came to its end or broke off.
 */
export function serverBody(
  response: IncomingMessage,
  limits: BodyLimits,
  onEnd: () => unknown,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const meter = new BodyMeter(limits, EVENT_STREAM.test(response.headers["content-type"] ?? ""));
  const chunks: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { value, done } = await chunks.next();
        if (done === true) {
          onEnd();
          controller.close();
          return;
        }
        meter.take(value);
        controller.enqueue(new Uint8Array(value));
      } catch (error) {
        response.destroy();
        onEnd();
        throw error;
      }
    },
    cancel: () => {
      response.destroy();
      onEnd();
    },
  });
}

/** Counts what has come, and of a stream of events what has come since the last one. */
class BodyMeter {
  readonly #limits: BodyLimits;
  readonly #isStream: boolean;
  #total = 0;
  #message = 0;
  #isLineEmpty = true;

  constructor(limits: BodyLimits, isStream: boolean) {
    this.#limits = limits;
    this.#isStream = isStream;
  }

  take(chunk: Uint8Array): void {
    const { messageBytesMax, streamBytesMax } = this.#limits;
    this.#total += chunk.byteLength;
    if (this.#isStream) this.#takeEvents(chunk);
    else this.#message = this.#total;
    if (this.#message > messageBytesMax) {
      throw new Error(`a message of over ${messageBytesMax} bytes`);
    }
    if (this.#total > streamBytesMax) throw new Error(`a stream of over ${streamBytesMax} bytes`);
  }

  /** An empty line ends an event. */
  #takeEvents(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.#message += 1;
      if (byte === LF) {
        if (this.#isLineEmpty) this.#message = 0;
        this.#isLineEmpty = true;
      } else if (byte !== CR) {
        this.#isLineEmpty = false;
      }
    }
  }
}
