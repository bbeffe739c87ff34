import { StoreUnavailableError } from "../core/errors.ts";
import type { AppContext } from "./context.ts";
import { respondWithBytes } from "./download.ts";

/** Of a server at a time: each asks a model, one request after the other, for as long as that takes. */
const REPLAYS_MAX = 8;

type Lines = AsyncGenerator<Readonly<Record<string, unknown>>>;

/** Answers with the lines of a replay as they are made. It ends with the connection, or with the server. */
export class Replays {
  readonly #shutdown: AbortSignal;
  #running = 0;

  constructor(shutdown: AbortSignal) {
    this.#shutdown = shutdown;
  }

  async respond(c: AppContext, start: (signal: AbortSignal) => Promise<Lines>): Promise<Response> {
    if (this.#running >= REPLAYS_MAX) {
      throw new StoreUnavailableError("this server takes no more replays now");
    }
    this.#running += 1;
    const gone = new AbortController();
    const outgoing = c.env?.outgoing;
    outgoing?.once("close", () => gone.abort());
    if (outgoing?.destroyed === true) gone.abort();
    try {
      const lines = await start(AbortSignal.any([gone.signal, this.#shutdown]));
      const bytes = bytesOf(lines);
      const download = { filename: "replay.jsonl", mime_type: "application/jsonl" };
      return await respondWithBytes(c, { ...download, size_bytes: undefined, bytes });
    } finally {
      this.#running -= 1;
    }
  }
}

async function* bytesOf(lines: Lines): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`);
}
