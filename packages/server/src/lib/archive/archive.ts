/** What an archive says that it holds, one member each; nothing of it is true before it was checked. */
export interface ArchiveMember {
  /** As the archive has it; what names a folder may end with `/`. */
  readonly path: string;
  /** Everything that is neither a file nor a folder: links, devices, pipes. */
  readonly kind: "file" | "folder" | "other";
  /** Bytes of its content as the archive declares them. */
  readonly size: number;
  /** Bytes that the content takes in the archive, where each member is packed by itself. */
  readonly packedSize?: number;
  readonly isEncrypted: boolean;
  readonly isExecutable: boolean;
}

export interface ArchiveContent {
  readonly member: ArchiveMember;
  /** Ends with an `ArchiveError` unless it is what the archive declared. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** An archive, a folder or a handful of files, read without unpacking anything. */
export interface Archive extends AsyncDisposable {
  readonly members: readonly ArchiveMember[];
  /** The files in order; each must be read, or left, before the next. May be called again. */
  contents(): AsyncIterable<ArchiveContent>;
}

/** Beyond these the reader itself stops; whether what is within them may be kept is not its business. */
export interface ArchiveLimits {
  readonly membersMax: number;
  /** Of all contents together. */
  readonly bytesMax: number;
}

/** The archive cannot be read, or holds something else than it declares. A sentence without subject. */
export class ArchiveError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "ArchiveError";
  }
}

/** Times that content may be larger than what it was packed into; deflate alone can reach 1,032. */
const RATIO_MAX = 100;
/** Below this many bytes no ratio is suspicious. */
const RATIO_FREE_BYTES = 1024 * 1024;

/** True of content that is packed as only bombs are. */
export function isBomb(size: number, packedSize: number): boolean {
  return size > RATIO_FREE_BYTES && size > packedSize * RATIO_MAX;
}
