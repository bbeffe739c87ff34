/**
 * About how many tokens something is, rather too many: a third of its UTF-8 bytes, which is more than
 * the tokenizers of today make of prose, most code or Chinese. Only ever used where nobody has counted.
 */
const BYTES_PER_TOKEN = 3;
/** The largest that an image is scaled to. */
const TOKENS_PER_IMAGE = 1_600;
/** Text and picture of each page, by the size that pages usually have. */
const CHARS_PER_DOCUMENT_TOKEN = 8;
/** Of a document that is a file or a URL, whose size is not known here: a paper of some pages. */
const TOKENS_PER_FILE = 10_000;
/** Around every block. */
const TOKENS_PER_BLOCK = 4;

interface Block {
  readonly type: string;
}

export function blocksTokens(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + blockTokens(block), 0);
}

export function blockTokens(block: Block): number {
  const fields: Readonly<Record<string, unknown>> = { ...block };
  return TOKENS_PER_BLOCK + contentTokens(block.type, fields);
}

/** Of anything that is sent as JSON. */
export function jsonTokens(value: unknown): number {
  return textTokens(JSON.stringify(value) ?? "");
}

export function textTokens(text: string): number {
  return Math.ceil(utf8Bytes(text) / BYTES_PER_TOKEN);
}

function contentTokens(type: string, fields: Readonly<Record<string, unknown>>): number {
  switch (type) {
    case "image":
      return TOKENS_PER_IMAGE;
    case "document":
      return documentTokens(fields);
    case "text":
      return textTokens(String(fields["text"]));
    case "tool_result": {
      const { content } = fields;
      if (Array.isArray(content)) return blocksTokens(content.filter(isBlock));
      return typeof content === "string" ? textTokens(content) : 0;
    }
    default:
      // Signatures are not read by the model, but what they stand for is.
      return jsonTokens(fields);
  }
}

function documentTokens(fields: Readonly<Record<string, unknown>>): number {
  const source: unknown = fields["source"];
  if (!isBlock(source)) return jsonTokens(fields);
  if (source.type === "file" || source.type === "url") return TOKENS_PER_FILE;
  const data = "data" in source ? source.data : undefined;
  if (source.type !== "base64" || typeof data !== "string") return jsonTokens(fields);
  return Math.ceil(data.length / CHARS_PER_DOCUMENT_TOKEN);
}

function isBlock(value: unknown): value is Block {
  return (
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
  );
}

function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    // Halves of a surrogate pair are two units and four bytes together.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
