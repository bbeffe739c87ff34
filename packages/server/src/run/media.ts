import { beginsLike, MEDIA_BYTES_MAX, type MediaKind, mediaFormOf } from "../core/files/media.ts";
import { tamed } from "../core/harness/tame.ts";
import type { ModelBlock, ModelMessage, ModelRequest } from "../core/ports/model.ts";
import type { FileRecord } from "../core/ports/records.ts";
import { isRecord } from "../lib/is-record.ts";
import type { DriveDeps } from "./deps.ts";

/** Characters of the media of one request, so that it stays below what an API takes, which is 32 MB. */
const REQUEST_MEDIA_MAX = 24 * 1024 * 1024;

type MediaDeps = Pick<DriveDeps, "blobs" | "clock" | "log"> & {
  readonly store: Pick<DriveDeps["store"], "files">;
};
type MediaBlock = ModelBlock & { readonly type: MediaKind };

/**
 * The request with the content of files in the place of their ids. A file that is gone, and media that
 * find no room behind newer ones, are a sentence instead: a session never fails for what it once had.
 * Each file is read once, and at most as much as has room.
 */
export async function withMedia(
  request: ModelRequest,
  workspaceId: string,
  deps: MediaDeps,
): Promise<ModelRequest> {
  const media = mediaOf(request.messages);
  if (media.length === 0) return request;
  const ids = [...new Set(media.flatMap((block) => fileIdOf(block) ?? []))];
  const files = ids.length === 0 ? [] : await deps.store.files.findMany(workspaceId, ids);
  const byId = new Map(files.map((file) => [file.id, file]));
  const reader = new FileReader(workspaceId, deps);
  const sent = new Map<ModelBlock, ModelBlock>();
  let room = REQUEST_MEDIA_MAX;
  // The newest first: what has to give way is the oldest.
  for (const block of media.toReversed()) {
    const fileId = fileIdOf(block);
    const file = fileId === undefined ? undefined : byId.get(fileId);
    const size = fileId === undefined ? inlineSize(block) : sizeOf(file);
    if (size > room) {
      sent.set(block, sentence(block, "is left out, for newer ones leave no room for it"));
      continue;
    }
    room -= size;
    if (fileId !== undefined) sent.set(block, await reader.read(block, file));
  }
  return { ...request, messages: request.messages.map((message) => exchanged(message, sent)) };
}

class FileReader {
  readonly #workspaceId: string;
  readonly #deps: MediaDeps;
  readonly #contents = new Map<string, Promise<Buffer | undefined>>();

  constructor(workspaceId: string, deps: MediaDeps) {
    this.#workspaceId = workspaceId;
    this.#deps = deps;
  }

  async read(block: MediaBlock, file: FileRecord | undefined): Promise<ModelBlock> {
    if (file === undefined) return sentence(block, "was deleted");
    const isExpired =
      file.expires_at !== null && Date.parse(file.expires_at) <= this.#deps.clock.now();
    if (isExpired || file.sha256 === "") return sentence(block, "has expired");
    const form = mediaFormOf(block.type, file.mime_type);
    if (form === undefined || file.size_bytes > MEDIA_BYTES_MAX[form]) {
      return sentence(block, `is no ${block.type} that a model takes`);
    }
    const content = await this.#content(file);
    if (content === undefined) return sentence(block, "cannot be read");
    if (!beginsLike(file.mime_type, content)) return sentence(block, `is no ${file.mime_type}`);
    return { ...block, source: sourceOf(form, file.mime_type, content) };
  }

  #content(file: FileRecord): Promise<Buffer | undefined> {
    const known = this.#contents.get(file.sha256) ?? this.#load(file);
    this.#contents.set(file.sha256, known);
    return known;
  }

  /** Undefined if it cannot be read: a disk that is broken must not keep the session from going on. */
  async #load({ id, sha256, size_bytes }: FileRecord): Promise<Buffer | undefined> {
    const { blobs, log } = this.#deps;
    try {
      const range = { start: 0, end: size_bytes };
      const bytes = await blobs.get(this.#workspaceId, sha256, range);
      if (bytes === undefined) throw new Error("it is not in the blob store");
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      return Buffer.concat(chunks);
    } catch (error) {
      log.error({ file_id: id, err: error }, "the content of a file cannot be read");
      return undefined;
    }
  }
}

function sourceOf(form: "image" | "pdf" | "text", mediaType: string, content: Buffer) {
  if (form === "text") {
    const data = tamed(content.toString("utf8"));
    // The API takes no document without a visible character.
    return { type: "text", media_type: "text/plain", data: data.trim() === "" ? "(blank)" : data };
  }
  const media_type = mediaType.split(";")[0]?.trim().toLowerCase();
  return { type: "base64", media_type, data: content.toString("base64") };
}

/** A sentence where the block was, which keeps the block's mark for the cache. */
function sentence(block: MediaBlock, what: string): ModelBlock {
  const { cache_control } = block;
  const text = `[${block.type === "image" ? "An image" : "A document"} was here. It ${what}.]`;
  return { type: "text", text, ...(cache_control !== undefined && { cache_control }) };
}

function mediaOf(messages: readonly ModelMessage[]): readonly MediaBlock[] {
  return messages.flatMap(({ content }) =>
    content.flatMap((block) => [block, ...innerBlocks(block)]).filter(isMedia),
  );
}

function isMedia(block: ModelBlock): block is MediaBlock {
  return block.type === "image" || block.type === "document";
}

function innerBlocks(block: ModelBlock): readonly ModelBlock[] {
  const content = block.type === "tool_result" ? block["content"] : undefined;
  return Array.isArray(content) ? content : [];
}

function exchanged(message: ModelMessage, sent: ReadonlyMap<ModelBlock, ModelBlock>): ModelMessage {
  const content = message.content.map((block) => {
    const inner = innerBlocks(block);
    if (!inner.some((part) => sent.has(part))) return sent.get(block) ?? block;
    return { ...block, content: inner.map((part) => sent.get(part) ?? part) };
  });
  return { ...message, content };
}

function fileIdOf(block: ModelBlock): string | undefined {
  const { source } = block;
  const isFile = isRecord(source) && source["type"] === "file";
  return isFile ? String(source["file_id"]) : undefined;
}

function inlineSize({ source }: ModelBlock): number {
  const data = isRecord(source) ? source["data"] : undefined;
  return typeof data === "string" ? data.length : 0;
}

/** Characters that the content has in a request. */
function sizeOf(file: FileRecord | undefined): number {
  return file === undefined ? 0 : Math.ceil(file.size_bytes / 3) * 4;
}
