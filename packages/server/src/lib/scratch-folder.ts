import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export interface ScratchFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

/** A folder for the time of one request; it goes with all that is in it. */
export class ScratchFolder implements AsyncDisposable {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Makes one below `root`, which is made if need be; nobody but the owner may look into it. */
  static async open(root: string): Promise<ScratchFolder> {
    await mkdir(root, { recursive: true, mode: 0o700 });
    return new ScratchFolder(await mkdtemp(join(root, "request-")));
  }

  /** Streams the content into a file whose name says nothing. */
  async write(content: AsyncIterable<Uint8Array>): Promise<ScratchFile> {
    const path = join(this.#path, randomUUID());
    const source = Readable.from(content, { objectMode: false });
    await pipeline(source, createWriteStream(path, { flags: "wx", mode: 0o600 }));
    return { path, size: (await stat(path)).size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#path, { recursive: true, force: true });
  }
}
