import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { Page } from "./html-page.ts";
import { Places } from "./places.ts";
import { WebError } from "./web-error.ts";

/** Milliseconds and megabytes that one page may take. */
const CONVERT_MS = 10_000;
const CONVERT_MB = 512;
/** Pages at the same time; others wait. */
const CONVERTING_MAX = 2;

const Answer = z.object({ title: z.string(), text: z.string() });

/**
 * Turns pages into text in threads of their own, one a page: whoever wrote the page decides what that
 * costs, so it is ended when it takes too long or too much memory, and nothing else here waits for it.
 */
export class PageReader {
  readonly #convertMs: number;
  readonly #places = new Places(CONVERTING_MAX);

  constructor({ convertMs = CONVERT_MS }: { readonly convertMs?: number } = {}) {
    this.#convertMs = convertMs;
  }

  /** Throws `WebError` if the page cannot be read within its bounds. */
  async read(html: string, url: string, signal: AbortSignal): Promise<Page> {
    return await this.#places.take(async () => {
      const deadline = AbortSignal.timeout(this.#convertMs);
      return await converted(html, url, AbortSignal.any([signal, deadline]));
    });
  }
}

async function converted(html: string, url: string, signal: AbortSignal): Promise<Page> {
  if (signal.aborted) throw unreadable();
  const worker = new Worker(workerFile(), {
    workerData: { html, url },
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: CONVERT_MB },
  });
  try {
    return await new Promise<Page>((resolve, reject) => {
      const fail = () => reject(unreadable());
      signal.addEventListener("abort", fail, { once: true });
      worker.once("message", (message) => {
        const { data, error } = Answer.safeParse(message);
        if (data === undefined) reject(error);
        else resolve(data);
      });
      worker.once("error", (error) => reject(isOutOfRoom(error) ? unreadable() : error));
      worker.once("exit", fail);
    });
  } finally {
    await worker.terminate();
  }
}

/** What the build has made of the source, or the source where nothing is built. */
function workerFile(): URL {
  const built = new URL("./html-page.worker.mjs", import.meta.url);
  return existsSync(built) ? built : new URL("./html-page.worker.ts", import.meta.url);
}

/** Of memory, or of the stack: of what the page asks for. */
function isOutOfRoom(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

function unreadable(): WebError {
  return new WebError(
    "content_too_large",
    "the page is too large or too deep to be made into text",
  );
}
