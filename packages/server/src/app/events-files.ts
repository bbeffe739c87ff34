import type { ClientEventParams, ResultBlock } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import { MEDIA_BYTES_MAX, type MediaKind, mediaFormOf } from "../core/files/media.ts";
import type { FileRecord } from "../core/ports/records.ts";
import type { StoreTransaction } from "../core/ports/store.ts";
import { assertNotExpired } from "./files.ts";

/** Of each kind in one request. */
const FILES_MAX = 100;

interface FileUse {
  readonly fileId: string;
  readonly kind: MediaKind;
  /** Names its source in messages. */
  readonly place: string;
}

/**
 * Refuses images and documents whose files are not in the workspace, have expired, or are no such
 * thing. What becomes of a file later is no error: a sentence stands in its place then. `events` is how
 * the list is called in messages.
 */
export async function assertFiles(
  tx: StoreTransaction,
  workspaceId: string,
  params: readonly ClientEventParams[],
  events = "events",
): Promise<void> {
  const uses = params.flatMap((event, index) => usesIn(event, `${events}.${index}`));
  for (const kind of ["document", "image"] as const) {
    if (uses.filter((use) => use.kind === kind).length > FILES_MAX) {
      throw new InvalidRequestError(
        `${events}: at most ${FILES_MAX} ${kind}s of one request may be files`,
      );
    }
  }
  if (uses.length === 0) return;
  const ids = [...new Set(uses.map(({ fileId }) => fileId))];
  const found = await tx.files.findMany(workspaceId, ids);
  const byId = new Map(found.map((file) => [file.id, file]));
  for (const use of uses) assertUsable(use, byId.get(use.fileId), Date.parse(tx.now));
}

function usesIn(event: ClientEventParams, place: string): readonly FileUse[] {
  return contentOf(event).flatMap((block, index) => {
    if (block.type !== "image" && block.type !== "document") return [];
    const { source, type: kind } = block;
    if (source.type !== "file") return [];
    return [{ fileId: source.file_id, kind, place: `${place}.content.${index}.source.file_id` }];
  });
}

function contentOf(event: ClientEventParams): readonly ResultBlock[] {
  switch (event.type) {
    case "user.message":
    case "user.custom_tool_result":
    case "user.tool_result":
      return event.content ?? [];
    default:
      return [];
  }
}

function assertUsable(
  { fileId, kind, place }: FileUse,
  file: FileRecord | undefined,
  nowMs: number,
): void {
  const shown = fileId.slice(0, 128);
  if (file === undefined) {
    throw new NotFoundError(`${place}: there is no file ${shown}`, { code: "file_not_found" });
  }
  assertNotExpired(file, nowMs);
  const form = mediaFormOf(kind, file.mime_type);
  if (form === undefined) {
    throw new InvalidRequestError(`${place}: a file of type ${file.mime_type} is no ${kind}`);
  }
  if (file.size_bytes === 0) throw new InvalidRequestError(`${place}: file ${shown} is empty`);
  const bytesMax = MEDIA_BYTES_MAX[form];
  if (file.size_bytes > bytesMax) {
    throw new InvalidRequestError(`${place}: file ${shown} is larger than ${bytesMax} bytes`);
  }
}
