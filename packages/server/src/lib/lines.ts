/** Reads lines of UTF-8, each without its line feed, none held that is longer than the bound. */
export async function* linesOf(
  content: AsyncIterable<Uint8Array>,
  options: { readonly bytesMax: number; readonly tooLong: () => Error },
): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (part: Uint8Array) => {
    size += part.byteLength;
    if (size > options.bytesMax) throw options.tooLong();
    parts.push(part);
  };
  for await (const chunk of content) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, at));
      yield Buffer.concat(parts);
      [parts, size, from] = [[], 0, at + 1];
    }
    if (from < chunk.byteLength) take(chunk.slice(from));
  }
  if (size > 0) yield Buffer.concat(parts);
}

const LINE_FEED = 0x0a;
