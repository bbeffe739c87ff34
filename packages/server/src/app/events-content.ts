import type { DocumentBlock, ImageBlock, ResultBlock, SearchResultBlock } from "@drover/api";
import { isBlankText } from "../core/blank-text.ts";
import { InvalidRequestError, unreachable } from "../core/errors.ts";
import {
  beginsLike,
  encodedTypes,
  MEDIA_BYTES_MAX,
  type MediaKind,
  mediaFormOf,
  SIGNATURE_BYTES,
} from "../core/files/media.ts";

const URL_LENGTH_MAX = 8_192;

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
  kind: MediaKind,
): void {
  switch (source.type) {
    case "base64":
      assertBase64(source, place, kind);
      return;
    case "url":
      assertUrl(source.url, `${place}.url`);
      return;
    case "file":
      // Whether it is there is asked in the transaction: see `assertFiles`.
      return;
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
  kind: MediaKind,
): void {
  const types = encodedTypes(kind);
  const form = mediaFormOf(kind, source.media_type);
  if (form === undefined || !types.includes(source.media_type)) {
    throw new InvalidRequestError(`${place}.media_type: must be one of ${types.join(", ")}`);
  }
  if (source.data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(source.data)) {
    throw new InvalidRequestError(`${place}.data: is not valid base64`);
  }
  const bytesMax = MEDIA_BYTES_MAX[form];
  if ((source.data.length / 4) * 3 > bytesMax + 2) {
    throw new InvalidRequestError(`${place}.data: is larger than ${bytesMax} bytes`);
  }
  const head = Buffer.from(source.data.slice(0, (SIGNATURE_BYTES / 3) * 4), "base64");
  if (!beginsLike(source.media_type, head)) {
    throw new InvalidRequestError(`${place}.data: does not begin like ${source.media_type}`);
  }
}

function assertUrl(url: string, place: string): void {
  if (url.length > URL_LENGTH_MAX || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new InvalidRequestError(`${place}: must be an http or https URL`);
  }
}
