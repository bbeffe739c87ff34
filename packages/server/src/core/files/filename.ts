import { InvalidRequestError } from "../errors.ts";
import { extensionOf } from "./mime-type.ts";

/** Bytes in UTF-8: what file systems allow, for the file may be mounted under its name. */
const FILENAME_BYTES_MAX = 255;

/**
 * The name a file is stored under: the last part of what was sent, or `unnamed` with the extension of
 * its type. Rejects control characters and names that no file system takes.
 */
export function storedFilename(sent: string | undefined, mimeType: string): string {
  const name = (sent ?? "").split(/[/\\]/).at(-1)?.trim() ?? "";
  if (name === "" || name === "." || name === "..") return `unnamed${extensionOf(mimeType)}`;
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(name)) {
    throw new InvalidRequestError("file: the filename must not contain control characters");
  }
  if (new TextEncoder().encode(name).length > FILENAME_BYTES_MAX) {
    throw new InvalidRequestError(`file: the filename is longer than ${FILENAME_BYTES_MAX} bytes`);
  }
  return name;
}
