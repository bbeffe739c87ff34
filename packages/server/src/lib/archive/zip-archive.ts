import type { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { type Entry, getFileNameLowLevel, openPromise, type ZipFile } from "yauzl";
import {
  type Archive,
  type ArchiveContent,
  ArchiveError,
  type ArchiveLimits,
  type ArchiveMember,
} from "./archive.ts";

/** What macOS puts beside the files that were packed. */
const BESIDE = "__MACOSX/";
const STORED = 0;
const DEFLATED = 8;
/** The part of a Unix mode that tells files from links, devices and so on. */
const TYPE_MASK = 0o170000;
const TYPE_FOLDER = 0o040000;
const TYPE_FILE = 0o100000;

interface Listed {
  readonly member: ArchiveMember;
  readonly entry: Entry;
}

/** Opens a zip file. What counts is its directory, which is at the end; rejects with `ArchiveError`. */
export async function openZip(path: string, limits: ArchiveLimits): Promise<Archive> {
  const zip = await readable(
    openPromise(path, {
      lazyEntries: true,
      autoClose: false,
      // Names are decoded here, so that all readers leave them to the same rules.
      decodeStrings: false,
      validateEntrySizes: true,
    }),
  );
  // Errors also reach whoever waits for something; without a listener they would end the process.
  zip.on("error", () => undefined);
  try {
    const listed = await listEntries(zip, limits);
    return {
      members: listed.map(({ member }) => member),
      contents: () => readContents(zip, listed),
      [Symbol.asyncDispose]: async () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

async function listEntries(zip: ZipFile, { membersMax }: ArchiveLimits): Promise<Listed[]> {
  const listed: Listed[] = [];
  const entries = zip.eachEntry();
  for (;;) {
    const next = await readable(entries.next());
    if (next.done === true) return listed;
    if (zip.entriesRead > membersMax) throw new ArchiveError(`has more than ${membersMax} members`);
    const member = memberOf(next.value);
    if (!member.path.startsWith(BESIDE)) listed.push({ member, entry: next.value });
  }
}

function memberOf(entry: Entry): ArchiveMember {
  const { generalPurposeBitFlag, fileNameRaw, extraFields, compressionMethod } = entry;
  const path = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
  const mode = entry.externalFileAttributes >>> 16;
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) {
    throw new ArchiveError(`packs a member by method ${compressionMethod}; deflate is read alone`);
  }
  return {
    path,
    kind: kindOf(path, mode & TYPE_MASK),
    size: entry.uncompressedSize,
    packedSize: entry.compressedSize,
    isEncrypted: entry.isEncrypted(),
    isExecutable: (mode & 0o111) !== 0,
  };
}

/** Looked at whatever system the archive says to be from: others do not look there either. */
function kindOf(path: string, type: number): ArchiveMember["kind"] {
  if (path.endsWith("/")) return type === 0 || type === TYPE_FOLDER ? "folder" : "other";
  if (type === TYPE_FOLDER) return "folder";
  return type === 0 || type === TYPE_FILE ? "file" : "other";
}

async function* readContents(
  zip: ZipFile,
  listed: readonly Listed[],
): AsyncGenerator<ArchiveContent> {
  for (const { member, entry } of listed) {
    if (member.kind === "file") yield { member, bytes: readEntry(zip, entry) };
  }
}

/** The library counts the bytes while it inflates; the sum is checked here. */
async function* readEntry(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await readable(zip.openReadStreamPromise(entry));
  let sum = 0;
  try {
    for await (const chunk of stream as Readable & AsyncIterable<Uint8Array>) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    throw asArchiveError(error);
  }
  if (sum !== entry.crc32) throw new ArchiveError("has a member whose checksum is wrong");
}

async function readable<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw asArchiveError(error);
  }
}

function asArchiveError(error: unknown): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new ArchiveError(`is no zip archive that can be read: ${reason}`, { cause: error });
}
