import type { DocumentBlock, ImageBlock, ResultBlock, SearchResultBlock } from "@drover/api";
import { isBlankText } from "../core/blank-text.ts";
import { InvalidRequestError, NotImplementedError, unreachable } from "../core/errors.ts";

/** Bytes of one image, as the Messages API has it; a larger one would fail every later turn. */
const IMAGE_BYTES_MAX = 5 * 1024 * 1024;
const DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
const URL_LENGTH_MAX = 8_192;
const FILE_DOCUMENTS = "content from the Files API (source type `file`)";

/** How the content of each media type begins, as Latin-1. */
const IMAGE_SIGNATURES: Readonly<Record<string, RegExp>> = {
  "image/jpeg": /^\xff\xd8\xff/,
  "image/png": /^\x89PNG\r\n/,
  "image/gif": /^GIF8[79]a/,
  "image/webp": /^RIFF....WEBP/s,
};
const DOCUMENT_SIGNATURES: Readonly<Record<string, RegExp>> = { "application/pdf": /^%PDF-/ };
const SIGNATURE_BYTES = 12;

/**
 * Refuses content that no model takes: once in the log it would fail this turn and every later one.
 * `place` names the block in messages, such as `events.0.content.1`.
 */
export function assertContent(block: ResultBlock, place: string): void {
  switch (block.type) {
    case "text":
      if (isBlankText(block.text)) {
        throw new InvalidRequestError(`${place}.text: must not be empty or blank`);
      }
      return;
    case "image":
    case "document":
      assertSource(block.source, `${place}.source`, block.type);
      return;
    case "search_result":
      assertSearchResult(block, place);
      return;
    default:
      unreachable(block);
  }
}

function assertSearchResult(block: SearchResultBlock, place: string): void {
  for (const field of ["source", "title"] as const) {
    if (isBlankText(block[field])) {
      throw new InvalidRequestError(`${place}.${field}: must not be empty or blank`);
    }
  }
  if (block.content.length === 0) {
    throw new InvalidRequestError(`${place}.content: must not be empty`);
  }
  for (const [index, part] of block.content.entries()) {
    assertContent(part, `${place}.content.${index}`);
  }
}

function assertSource(
  source: ImageBlock["source"] | DocumentBlock["source"],
  place: string,
  kind: "image" | "document",
): void {
  switch (source.type) {
    case "base64":
      assertBase64(source, place, kind);
      return;
    case "url":
      assertUrl(source.url, `${place}.url`);
      return;
    case "file":
      throw new NotImplementedError(`${place}: not implemented in this version: ${FILE_DOCUMENTS}`);
    case "text":
      if (!isBlankText(source.data)) return;
      throw new InvalidRequestError(`${place}.data: must not be empty or blank`);
    default:
      unreachable(source);
  }
}

function assertBase64(
  source: { data: string; media_type: string },
  place: string,
  kind: "image" | "document",
): void {
  const signatures = kind === "image" ? IMAGE_SIGNATURES : DOCUMENT_SIGNATURES;
  const signature = Object.hasOwn(signatures, source.media_type)
    ? signatures[source.media_type]
    : undefined;
  if (signature === undefined) {
    throw new InvalidRequestError(
      `${place}.media_type: must be one of ${Object.keys(signatures).join(", ")}`,
    );
  }
  if (source.data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(source.data)) {
    throw new InvalidRequestError(`${place}.data: is not valid base64`);
  }
  const bytesMax = kind === "image" ? IMAGE_BYTES_MAX : DOCUMENT_BYTES_MAX;
  if ((source.data.length / 4) * 3 > bytesMax + 2) {
    throw new InvalidRequestError(`${place}.data: is larger than ${bytesMax} bytes`);
  }
  const head = Buffer.from(source.data.slice(0, (SIGNATURE_BYTES / 3) * 4), "base64");
  if (!signature.test(head.toString("latin1"))) {
    throw new InvalidRequestError(`${place}.data: does not begin like ${source.media_type}`);
  }
}

function assertUrl(url: string, place: string): void {
  if (url.length > URL_LENGTH_MAX || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new InvalidRequestError(`${place}: must be an http or https URL`);
  }
}
