import { memoryContentBytesMax } from "@drover/api";
import { InvalidRequestError } from "../errors.ts";

/** Bytes of the content in UTF-8. Rejects more than 102,400 of them. */
export function contentSize(content: string): number {
  const size = new TextEncoder().encode(content).length;
  if (size > memoryContentBytesMax) {
    throw new InvalidRequestError(
      `content: ${size} bytes of UTF-8, at most ${memoryContentBytesMax} are allowed`,
    );
  }
  return size;
}
