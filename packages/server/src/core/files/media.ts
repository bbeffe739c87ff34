/** What images and documents may be, wherever they come from. */

export type MediaKind = "image" | "document";
/** What a media type becomes in a request. */
export type MediaForm = "image" | "pdf" | "text";

/** Bytes; an image as the Messages API has it. A larger one would fail every later turn. */
export const MEDIA_BYTES_MAX: Readonly<Record<MediaForm, number>> = {
  image: 5 * 1024 * 1024,
  pdf: 32 * 1024 * 1024,
  // A million tokens, about.
  text: 4 * 1024 * 1024,
};

/** How the content of each media type begins, as Latin-1. */
const SIGNATURES: Readonly<Record<string, RegExp>> = {
  "image/jpeg": /^\xff\xd8\xff/,
  "image/png": /^\x89PNG\r\n/,
  "image/gif": /^GIF8[79]a/,
  "image/webp": /^RIFF....WEBP/s,
  "application/pdf": /^%PDF-/,
};
/** Bytes that tell. */
export const SIGNATURE_BYTES = 12;

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const TEXT_TYPES = /^(?:text\/[\w.+-]+|application\/(?:json|xml|yaml))$/;

/** The types that base64 may be of. */
export function encodedTypes(kind: MediaKind): readonly string[] {
  return kind === "image" ? IMAGE_TYPES : ["application/pdf"];
}

/** What a file of this media type is as an image or as a document; undefined if it is no such thing. */
export function mediaFormOf(kind: MediaKind, mediaType: string): MediaForm | undefined {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (encodedTypes(kind).includes(type)) return kind === "image" ? "image" : "pdf";
  return kind === "document" && TEXT_TYPES.test(type) ? "text" : undefined;
}

/** False if the content says itself that it is something else. */
export function beginsLike(mediaType: string, head: Uint8Array): boolean {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  const signature = Object.hasOwn(SIGNATURES, type) ? SIGNATURES[type] : undefined;
  const latin1 = String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));
  return signature === undefined || signature.test(latin1);
}
