import { TextDecoder } from "node:util";

/** Characters of a page in which it may say how it is encoded (HTML, "prescan a byte stream"). */
const PRESCAN_BYTES = 1_024;
const IN_HEADER = /charset\s*=\s*"?([\w:.-]{1,40})/i;
const IN_PAGE = /<(?:meta|\?xml)\b[^>]{0,500}?(?:charset|encoding)\s*=\s*["']?([\w:.-]{1,40})/i;

/**
 * The text that the bytes are: by their byte order mark, else by what the server says, else by what a
 * page says of itself, else as UTF-8. What is no text in that encoding becomes U+FFFD.
 */
export function decodedText(contentType: string, body: Uint8Array): string {
  const head = Buffer.from(body.subarray(0, PRESCAN_BYTES)).toString("latin1");
  const labels = [markOf(body), IN_HEADER.exec(contentType)?.[1], IN_PAGE.exec(head)?.[1], "utf-8"];
  for (const label of labels) {
    const decoder = label === undefined ? undefined : decoderFor(label);
    if (decoder !== undefined) return decoder.decode(body);
  }
  return "";
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

function decoderFor(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    // A RangeError: there is no such encoding.
    return undefined;
  }
}
