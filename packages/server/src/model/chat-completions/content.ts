import type { ModelBlock } from "../../core/ports/model.ts";
import { isRecord } from "../../lib/is-record.ts";

/** A part of a user's message. */
export type Part = { readonly type: string; readonly [key: string]: unknown };

type Fields = Readonly<Record<string, unknown>>;

/** A block as part of a user's message: an image as one, a PDF as a file, all else as text. */
export function contentPart(block: ModelBlock): Part {
  const { type: sourceType, media_type, data, url } = fields(block["source"]);
  if (block.type === "image" && sourceType === "base64") {
    const image = `data:${string(media_type)};base64,${string(data)}`;
    return { type: "image_url", image_url: { url: image } };
  }
  if (block.type === "image" && sourceType === "url") {
    return { type: "image_url", image_url: { url: string(url) } };
  }
  if (block.type === "document" && sourceType === "base64") {
    const file_data = `data:${string(media_type)};base64,${string(data)}`;
    const filename = string(block["title"]) || "document.pdf";
    return { type: "file", file: { filename, file_data } };
  }
  return { type: "text", text: textOf(block) };
}

/** A block as text; empty for what has none and is a part of its own. */
export function textOf(block: ModelBlock): string {
  switch (block.type) {
    case "text":
      return string(block["text"]);
    case "document":
      return documentText(block);
    case "search_result":
      return searchResultText(block);
    case "image":
      return fields(block["source"])["type"] === "file" ? "(An image that is not here.)" : "";
    default:
      return "";
  }
}

function documentText(block: ModelBlock): string {
  const source = fields(block["source"]);
  switch (source["type"]) {
    case "text":
      return inTags("document", string(block["title"]), string(source["data"]));
    case "content":
      return inTags("document", string(block["title"]), innerText(source["content"]));
    case "url":
      return `(A document at ${string(source["url"])}.)`;
    case "base64":
      return "";
    default:
      return "(A document that is not here.)";
  }
}

function searchResultText(block: ModelBlock): string {
  const text = `${string(block["source"])}\n${innerText(block["content"])}`;
  return inTags("search_result", string(block["title"]), text);
}

function inTags(tag: string, title: string, text: string): string {
  const attribute = title === "" ? "" : ` title=${JSON.stringify(title)}`;
  return `<${tag}${attribute}>\n${text}\n</${tag}>`;
}

function innerText(content: unknown): string {
  if (!Array.isArray(content)) return string(content);
  return content.map((part) => string(fields(part)["text"])).join("\n");
}

function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
