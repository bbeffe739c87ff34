import type { ResultBlock } from "@drover/api";
import { boundedResult } from "../../core/session/bounded-result.ts";
import { isRecord } from "../../lib/is-record.ts";

/** Media types that models are shown as images. */
const IMAGE_TYPES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);
/** Characters of the base64 of one image, which is what models' APIs take, and of all of a result. */
const IMAGE_LENGTH_MAX = 5 * 1024 * 1024;
const IMAGES_LENGTH_MAX = 6 * 1024 * 1024;
const BLOCKS_MAX = 200;
const LABEL_MAX = 2_000;

/**
 * What an MCP tool gave, as blocks that a model can be shown: text and images as they are, what is text in a resource
 * as text with its address, and a sentence in the place of everything else. A long text is cut in its middle.
 */
export function resultContent(result: Readonly<Record<string, unknown>>): readonly ResultBlock[] {
  const content = Array.isArray(result["content"]) ? result["content"] : [];
  const room = { images: IMAGES_LENGTH_MAX };
  const blocks = content.slice(0, BLOCKS_MAX).flatMap((block) => blocksOf(block, room));
  const { structuredContent } = result;
  if (blocks.length === 0 && structuredContent !== undefined) {
    blocks.push(text(JSON.stringify(structuredContent)));
  }
  if (content.length > BLOCKS_MAX) {
    blocks.push(text(`[${content.length - BLOCKS_MAX} more blocks were left out]`));
  }
  return boundedResult(blocks);
}

interface Room {
  /** Characters of base64. */
  images: number;
}

function blocksOf(block: unknown, room: Room): ResultBlock[] {
  if (!isRecord(block)) return [text("[a block of the result that is none was left out]")];
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" && block["text"] !== "" ? [text(block["text"])] : [];
    case "image":
      return [image(block, room)];
    case "audio":
      return [text(`[audio that cannot be shown: ${mediaOf(block)}, ${sizeOf(block["data"])}]`)];
    case "resource":
      return resource(block["resource"], room);
    case "resource_link":
      return [text(link(block))];
    default:
      return [text(`[a block of the type ${label(block["type"])} was left out]`)];
  }
}

function image({ data, mimeType }: Readonly<Record<string, unknown>>, room: Room): ResultBlock {
  const media_type = typeof mimeType === "string" ? mimeType.trim().toLowerCase() : "";
  const isUsable = IMAGE_TYPES.has(media_type) && typeof data === "string" && isBase64(data);
  if (!isUsable) {
    return text(`[an image that cannot be shown: ${label(mimeType)}, ${sizeOf(data)}]`);
  }
  if (data.length > IMAGE_LENGTH_MAX || data.length > room.images) {
    return text(`[an image that is too large to be shown: ${media_type}, ${sizeOf(data)}]`);
  }
  room.images -= data.length;
  return { type: "image", source: { type: "base64", media_type, data } };
}

function resource(given: unknown, room: Room): ResultBlock[] {
  if (!isRecord(given)) return [text("[a resource without content]")];
  const { uri, text: words, blob, mimeType } = given;
  const address = `[resource ${label(uri)}]`;
  if (typeof words === "string") return [text(`${address}\n${words}`)];
  const type = typeof mimeType === "string" ? mimeType.trim().toLowerCase() : "";
  if (typeof blob === "string" && IMAGE_TYPES.has(type)) {
    return [text(address), image({ data: blob, mimeType: type }, room)];
  }
  return [
    text(`${address} [binary content that cannot be shown: ${mediaOf(given)}, ${sizeOf(blob)}]`),
  ];
}

function link({ uri, name, description, mimeType }: Readonly<Record<string, unknown>>): string {
  const named = typeof name === "string" ? ` ${label(name)}` : "";
  const said = typeof description === "string" ? `: ${label(description)}` : "";
  const type = typeof mimeType === "string" ? ` (${label(mimeType)})` : "";
  return `[link to the resource${named} ${label(uri)}${type}${said}]`;
}

function mediaOf({ mimeType }: Readonly<Record<string, unknown>>): string {
  return typeof mimeType === "string" ? label(mimeType) : "of no known type";
}

/** Of what is base64. */
function sizeOf(data: unknown): string {
  return typeof data === "string" ? `about ${Math.floor((data.length * 3) / 4)} bytes` : "empty";
}

function label(value: unknown): string {
  const words = typeof value === "string" ? value : "without a name";
  return words.length > LABEL_MAX ? `${words.slice(0, LABEL_MAX)}…` : words;
}

function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

function text(value: string): ResultBlock {
  return { type: "text", text: value.replaceAll("\0", "\uFFFD").toWellFormed() };
}
