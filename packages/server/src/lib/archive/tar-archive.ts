import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { createTarDecoder, type ParsedTarEntry, type TarHeader } from "modern-tar";
import {
  type Archive,
  type ArchiveContent,
  ArchiveError,
  type ArchiveLimits,
  type ArchiveMember,
  isBomb,
} from "./archive.ts";

interface TarFile {
  readonly path: string;
  readonly isGzipped: boolean;
  readonly limits: ArchiveLimits;
}

/** A header, what pads the content, and the headers of a long name. */
const OVERHEAD_BYTES = 4096;
const OVERHEAD_FREE_BYTES = 1024 * 1024;

/**
 * Opens a tar file, gzipped or not. It is read from the start each time, and never inflated beyond
 * the limits. Rejects with `ArchiveError`.
 */
export async function openTar(file: TarFile): Promise<Archive> {
  const members: ArchiveMember[] = [];
  for await (const { header, body } of readEntries(file)) {
    await body.cancel();
    const member = memberOf(header);
    if (member !== undefined) members.push(member);
    if (members.length > file.limits.membersMax) {
      throw new ArchiveError(`has more than ${file.limits.membersMax} members`);
    }
  }
  return {
    members,
    contents: () => readContents(file),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function* readContents(file: TarFile): AsyncGenerator<ArchiveContent> {
  for await (const { header, body } of readEntries(file)) {
    const member = memberOf(header);
    if (member?.kind === "file") yield { member, bytes: readBody(body) };
    // Whoever left it unread has not even locked it.
    if (!body.locked) await body.cancel();
  }
}

/** Undefined for the folder that the archive was made in. */
function memberOf(header: TarHeader): ArchiveMember | undefined {
  const path = header.name.replace(/^(?:\.\/)+/, "");
  const kind = kindOf(header);
  if (kind === "folder" && (path === "" || path === ".")) return undefined;
  return {
    path,
    kind,
    size: header.size,
    isEncrypted: false,
    isExecutable: ((header.mode ?? 0) & 0o111) !== 0,
  };
}

function kindOf({ type, pax }: TarHeader): ArchiveMember["kind"] {
  if (Object.keys(pax ?? {}).some((name) => name.startsWith("GNU.sparse."))) return "other";
  if (type === "directory") return "folder";
  return type === "file" ? "file" : "other";
}

async function* readEntries(file: TarFile): AsyncGenerator<ParsedTarEntry> {
  try {
    yield* ReadableStream.from(readBytes(file)).pipeThrough(createTarDecoder({ strict: true }));
  } catch (error) {
    throw asArchiveError(error);
  }
}

async function* readBody(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw asArchiveError(error);
  }
}

/** The tar file's bytes, inflated if need be. */
async function* readBytes({ path, isGzipped, limits }: TarFile): AsyncGenerator<Uint8Array> {
  const bytesMax = limits.bytesMax + limits.membersMax * OVERHEAD_BYTES + OVERHEAD_FREE_BYTES;
  const file = createReadStream(path);
  let bytes: AsyncIterable<Uint8Array> = file;
  if (isGzipped) {
    const gunzip = createGunzip();
    // It fails with whatever goes wrong before it, and ends what is before it when it is left.
    pipeline(file, gunzip).catch(() => undefined);
    bytes = gunzip;
  }
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.byteLength;
    if (size > bytesMax) throw new ArchiveError(`unpacks to more than ${bytesMax} bytes`);
    if (isGzipped && isBomb(size, file.bytesRead)) {
      throw new ArchiveError("is packed so tightly that it looks like a bomb");
    }
    yield chunk;
  }
}

function asArchiveError(error: unknown): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new ArchiveError(`is no tar archive that can be read: ${reason}`, { cause: error });
}
