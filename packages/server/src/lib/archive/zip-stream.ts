import { type PassThrough, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { ZipFile } from "yazl";

export interface ZipInput {
  /** With `/`, relative. */
  readonly path: string;
  readonly isExecutable: boolean;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The same for all members, so that the same files make the same archive; zip knows nothing earlier. */
const TIME = new Date(1980, 0, 1);

/**
 * The files as a zip archive, in their order and as they come: nothing is held but what is under way.
 * The same files make the same bytes. Fails with what a file's content fails with.
 */
export async function* zipOf(files: AsyncIterable<ZipInput>): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  const output = zip.outputStream as PassThrough;
  zip.on("error", (error: Error) => output.destroy(error));
  addAll(zip, files, output).catch((error: Error) => output.destroy(error));
  yield* output;
}

async function addAll(
  zip: ZipFile,
  files: AsyncIterable<ZipInput>,
  output: PassThrough,
): Promise<void> {
  let current: Readable | undefined;
  // Whoever stops reading the archive ends what is being read for it.
  output.once("close", () => current?.destroy());
  for await (const { path, isExecutable, bytes } of files) {
    current = Readable.from(bytes, { objectMode: false });
    zip.addReadStream(current, path, {
      mtime: TIME,
      forceDosTimestamp: true,
      mode: isExecutable ? 0o100755 : 0o100644,
    });
    await finished(current);
    if (output.destroyed) return;
  }
  zip.end();
}
