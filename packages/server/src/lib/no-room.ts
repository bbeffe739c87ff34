const NO_ROOM: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS"]);

/** True of an error that says that a disk is full or cannot be written. */
export function isNoRoom(error: unknown): boolean {
  return error instanceof Error && "code" in error && NO_ROOM.has(String(error.code));
}
