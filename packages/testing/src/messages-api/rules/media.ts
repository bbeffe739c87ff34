import type { Json } from "../types.ts";
import { DOCS, type Rule, SDK } from "./rule.ts";
import { allBlocks, type BlockView, field, firstOf, oneOf } from "./shape.ts";

const VISION_DOCS = `${DOCS}/build-with-claude/vision`;
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const IMAGE_SOURCES = ["base64", "url", "file"];
const DOCUMENT_SOURCES = ["base64", "text", "content", "url", "file"];
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Images and documents, in messages and in tool results. */
export const MEDIA_RULES: readonly Rule[] = [
  {
    id: "image-source",
    source: `${SDK} ImageBlockParam.source`,
    description: "An image comes as base64, URL or file.",
    check: ({ body }) => firstOf(of(body, "image"), (view) => sourceType(view, IMAGE_SOURCES)),
  },
  {
    id: "image-media-type",
    source: `${SDK} Base64ImageSource.media_type; https://github.com/anthropics/claude-code/issues/3073`,
    description: "An image is JPEG, PNG, GIF or WebP.",
    check: ({ body }) =>
      firstOf(base64(body, "image"), ({ at, block }) =>
        IMAGE_TYPES.includes(String(field(block["source"], "media_type")))
          ? undefined
          : `${at}.image.source.base64.media_type: Input should be ${oneOf(IMAGE_TYPES)}`,
      ),
  },
  {
    id: "image-base64",
    source: VISION_DOCS,
    description: "An image's data is base64 without line breaks, and not empty.",
    check: ({ body }) => firstOf(base64(body, "image"), (view) => checkBase64(view)),
  },
  {
    id: "image-size",
    source: `${VISION_DOCS}#image-size`,
    description: "An image is at most 10 MB.",
    check: ({ body }) =>
      firstOf(base64(body, "image"), ({ at, block }) => {
        const bytes = (String(field(block["source"], "data")).length * 3) / 4;
        return bytes > MAX_IMAGE_BYTES
          ? `${at}.image.source.base64: image exceeds 10 MB maximum: ${bytes} bytes > ${MAX_IMAGE_BYTES} bytes`
          : undefined;
      }),
  },
  {
    id: "image-is-its-type",
    source: VISION_DOCS,
    description: "An image's bytes are of the media type it says.",
    check: ({ body }) =>
      firstOf(base64(body, "image"), ({ at, block }) => {
        const actual = sniff(String(field(block["source"], "data")));
        if (actual === undefined) return `${at}.image.source.base64.data: Could not process image`;
        const said = String(field(block["source"], "media_type"));
        return actual === said
          ? undefined
          : `${at}.image.source.base64.data: The image was specified using the ${said} media type, but the image appears to be a ${actual} image`;
      }),
  },
  {
    id: "document-source",
    source: `${SDK} DocumentBlockParam.source`,
    description: "A document comes as PDF, plain text, content, URL or file.",
    check: ({ body }) =>
      firstOf(of(body, "document"), (view) => sourceType(view, DOCUMENT_SOURCES)),
  },
  {
    id: "document-media-type",
    source: `${SDK} Base64PDFSource, PlainTextSource`,
    description: "A base64 document is a PDF, a text document is plain text.",
    check: ({ body }) =>
      firstOf(of(body, "document"), ({ at, block }) => {
        const type = String(field(block["source"], "type"));
        const wanted = { base64: "application/pdf", text: "text/plain" }[type];
        return wanted === undefined || field(block["source"], "media_type") === wanted
          ? undefined
          : `${at}.document.source.${type}.media_type: Input should be '${wanted}'`;
      }),
  },
  {
    id: "document-pdf",
    source: `${DOCS}/build-with-claude/pdf-support`,
    description: "A PDF's data is base64 of something that starts like a PDF.",
    check: ({ body }) =>
      firstOf(
        base64(body, "document"),
        (view) =>
          checkBase64(view) ??
          (String(field(view.block["source"], "data")).startsWith("JVBERi0")
            ? undefined
            : `${view.at}.document.source.base64.data: The PDF specified was not valid.`),
      ),
  },
];

function of(body: Json | undefined, type: string): readonly BlockView[] {
  return allBlocks(body).filter((view) => view.type === type);
}

function base64(body: Json | undefined, type: string): readonly BlockView[] {
  return of(body, type).filter(({ block }) => field(block["source"], "type") === "base64");
}

function sourceType({ at, type, block }: BlockView, allowed: readonly string[]) {
  const given = String(field(block["source"], "type"));
  return allowed.includes(given)
    ? undefined
    : `${at}.${type}.source: Input tag '${given}' found using 'type' does not match any of the expected tags: ${oneOf(allowed)}`;
}

function checkBase64({ at, type, block }: BlockView): string | undefined {
  const data = field(block["source"], "data");
  return typeof data === "string" && data.length % 4 === 0 && BASE64.test(data)
    ? undefined
    : `${at}.${type}.source.base64: invalid base64 data`;
}

function sniff(data: string): string | undefined {
  const head = Buffer.from(data.slice(0, 64), "base64");
  if (head.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n") return "image/png";
  if (head.subarray(0, 3).toString("latin1") === "\xff\xd8\xff") return "image/jpeg";
  if (/^GIF8[79]a/.test(head.toString("latin1"))) return "image/gif";
  if (/^RIFF[\s\S]{4}WEBP/.test(head.toString("latin1"))) return "image/webp";
  return undefined;
}
