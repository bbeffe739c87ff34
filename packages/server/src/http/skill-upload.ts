import { SKILL_LIMITS, type SkillPackage, storePackage } from "../app/skill-packages.ts";
import { assertPath } from "../core/archives/member-rules.ts";
import { InvalidRequestError, StoreUnavailableError } from "../core/errors.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import { SKILL_DOCUMENT } from "../core/skills/manifest.ts";
import type { Archive } from "../lib/archive/archive.ts";
import { archiveOfFiles } from "../lib/archive/file-archive.ts";
import { openArchive } from "../lib/archive/open-archive.ts";
import { isNoRoom } from "../lib/no-room.ts";
import { type ScratchFile, ScratchFolder } from "../lib/scratch-folder.ts";
import type { AppContext } from "./context.ts";
import { type FilePart, type FormFields, readForm } from "./multipart.ts";

export interface UploadDeps {
  readonly blobs: Blobs;
  /** Where uploads lie while they are checked. */
  readonly scratchFolder: string;
}

export interface UploadedSkill {
  readonly package: SkillPackage;
  readonly fields: FormFields;
}

interface ReceivedFile extends ScratchFile {
  /** As sent: a path, or the name of an archive. */
  readonly name: string;
}

/**
 * Receives a skill: its files as parts that are named by their paths, or one archive as the only part.
 * They are streamed to disk under names of our own, checked whole, and only then stored; what is
 * refused leaves nothing behind.
 */
export async function receiveSkill(
  c: AppContext,
  { blobs, scratchFolder }: UploadDeps,
): Promise<UploadedSkill> {
  await using scratch = await ScratchFolder.open(scratchFolder);
  // One file after the other, however many parts come at once.
  let turn: Promise<unknown> = Promise.resolve();
  const form = await readForm(c, {
    field: "files[]",
    filesMax: SKILL_LIMITS.membersMax,
    bytesMax: SKILL_LIMITS.bytesMax,
    isFile: (name) => name === "files[]" || name === "files",
    take: (part) => {
      const received = turn.then(() => receiveFile(part, scratch));
      turn = received;
      return received;
    },
  });
  const stored = await storePackage({
    blobs,
    workspaceId: c.get("principal").workspaceId,
    openArchive: () => archiveOf(form.files),
  });
  return { package: stored, fields: form.fields };
}

async function receiveFile(part: FilePart, scratch: ScratchFolder): Promise<ReceivedFile> {
  const name = part.filename ?? "";
  if (name === "") {
    throw new InvalidRequestError(
      `files: each part needs its path as the filename, as in my-skill/${SKILL_DOCUMENT}`,
    );
  }
  assertPath(name);
  try {
    return { name, ...(await scratch.write(part.bytes)) };
  } catch (error) {
    if (!isNoRoom(error)) throw error;
    throw new StoreUnavailableError(
      "The disk that holds uploads cannot be written: make room, and they go on.",
      { cause: error },
    );
  }
}

/** A single file without a folder can only be an archive. */
async function archiveOf(files: readonly ReceivedFile[]): Promise<Archive> {
  const [first] = files;
  if (files.length === 1 && first !== undefined && !first.name.includes("/")) {
    return await openArchive(first.path, SKILL_LIMITS);
  }
  return archiveOfFiles(
    files.map(({ name, path, size }) => ({
      member: { path: name, kind: "file", size, isEncrypted: false, isExecutable: false },
      file: path,
    })),
  );
}
