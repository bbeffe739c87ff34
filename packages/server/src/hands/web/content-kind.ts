import { beginsLike, encodedTypes } from "../../core/files/media.ts";

/** What an answer's body is to a model. */
export type ContentKind =
  | { readonly type: "html" | "text" }
  | { readonly type: "image" | "pdf"; readonly mediaType: string }
  | { readonly type: "unsupported" };

const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
const TEXT =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|typescript|x-sh|sql|graphql|x-ndjson|jsonl|rtf)|image\/svg\+xml|.+\+(?:json|xml|yaml))$/;
const UNKNOWN = /^(?:|application\/octet-stream|binary\/octet-stream)$/;
/** Bytes that are looked at where the server does not say, or says something else. */
const HEAD_BYTES = 1_024;

/** By what the server says, unless the content shows that this is not so. */
export function kindOf(contentType: string, body: Uint8Array): ContentKind {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const media = mediaTypeOf(type, body);
  if (media !== undefined) return media;
  const isUtf16 = (body[0] === 0xff && body[1] === 0xfe) || (body[0] === 0xfe && body[1] === 0xff);
  const isBinary =
    !isUtf16 && !/utf-?16/i.test(contentType) && body.subarray(0, HEAD_BYTES).includes(0);
  if (isBinary) return { type: "unsupported" };
  if (HTML.test(type)) return { type: "html" };
  if (TEXT.test(type)) return { type: "text" };
  if (!UNKNOWN.test(type)) return { type: "unsupported" };
  const head = Buffer.from(body.subarray(0, HEAD_BYTES)).toString("latin1");
  if (/^\s*<(?:!doctype html|html)\b/i.test(head)) return { type: "html" };
  // Text without a name is told from data by the lack of control characters.
  return { type: isPrintable(head) ? "text" : "unsupported" };
}

function mediaTypeOf(type: string, body: Uint8Array): ContentKind | undefined {
  for (const kind of ["image", "document"] as const) {
    const types = encodedTypes(kind);
    if (!types.includes(type) && !UNKNOWN.test(type)) continue;
    const mediaType = types.find((each) => beginsLike(each, body));
    if (mediaType !== undefined) return { type: kind === "image" ? "image" : "pdf", mediaType };
  }
  return undefined;
}

function isPrintable(latin1: string): boolean {
  for (const character of latin1) {
    const code = character.charCodeAt(0);
    if (code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0c && code !== 0x0d)
      return false;
  }
  return true;
}
