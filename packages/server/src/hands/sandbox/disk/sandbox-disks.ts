import { closeSync, existsSync, lstatSync, mkdirSync, openSync, rmSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { makeTemplate } from "./disk-template.ts";

/** The user of trials. */
export const NOBODY = 65_534;
const REASON_LENGTH_MAX = 300;
/** In a hand's folder. Empty until its first sandbox is launched. */
const IMAGE = "disk.ext4";
/** To be named anew when it is made otherwise. */
const TEMPLATE = "disk-template-1.ext4";
/** The size where no limit is set. */
const TRIED_BYTES = 64 * 1024 * 1024;

/** The file system that a hand's folders are in. */
export interface HandDisk {
  readonly image: string;
  /** What an image that is still empty becomes a copy of. */
  readonly template: string;
  /** Of the image, and so of all that the hand can keep. */
  readonly bytes: number;
}

export interface FindDisksOptions {
  /** For the template and the trial. Absolute. */
  readonly folder: string;
  /** Absent for no limit. */
  readonly diskBytes: number | undefined;
  /** Where the launcher can be run as root. */
  readonly isRoot: boolean;
  /** Mounts the disk at the folder as a launcher would, and lets go of it. Rejects where that fails. */
  readonly tryMount: (disk: HandDisk, stage: string) => Promise<void>;
}

/**
 * File systems of a fixed size, one a hand, each in a file that is mounted for the hand's sandbox only. What
 * all of its folders have in them has to fit.
 */
export class SandboxDisks {
  /** Why a hand's file system cannot be mounted here; undefined where it can. */
  readonly refusal: string | undefined;
  readonly #template: string;
  readonly #diskBytes: number | undefined;

  private constructor(
    refusal: string | undefined,
    template: string,
    diskBytes: number | undefined,
  ) {
    this.refusal = refusal;
    this.#template = template;
    this.#diskBytes = diskBytes;
  }

  /** Finds out by mounting one, whether a limit is set or not: hands may have some from before. */
  static async find(options: FindDisksOptions): Promise<SandboxDisks> {
    const { folder, diskBytes, isRoot } = options;
    const template = join(folder, TEMPLATE);
    const found = (refusal?: string) => new SandboxDisks(refusal, template, diskBytes);
    if (!isRoot) return found("only root can mount a file system");
    const bytes = diskBytes ?? TRIED_BYTES;
    try {
      // That of an earlier process will do, unless another size is wanted or it is broken.
      if (sizeOf(template) === bytes && (await isGood(options, template))) return found();
      await makeTemplate(template, bytes);
      await tryOne(options, template);
      return found();
    } catch (error) {
      return found(reasonOf(error));
    }
  }

  get can(): boolean {
    return this.refusal === undefined;
  }

  /**
   * The hand's disk, chosen now if the hand is new: then its image is there, empty, before any folder that
   * a sandbox writes. Undefined for a hand that has none, because there was no limit to be had when it was
   * new. Throws `SandboxUnavailableError` for one whose disk cannot be mounted.
   */
  of(hand: { readonly path: string; readonly writable: readonly string[] }): HandDisk | undefined {
    const image = join(hand.path, IMAGE);
    const size = sizeOf(image);
    if (size === undefined) {
      const isNew = !hand.writable.some((folder) => existsSync(folder));
      if (!isNew || !this.can || this.#diskBytes === undefined) return undefined;
      mkdirSync(hand.path, { recursive: true, mode: 0o700 });
      closeSync(openSync(image, "wx", 0o600));
    } else if (!this.can) {
      throw new SandboxUnavailableError(
        `its files are in a file system of their own, which cannot be mounted here: ${this.refusal}`,
      );
    }
    const bytes = size || (this.#diskBytes ?? TRIED_BYTES);
    return { image, template: this.#template, bytes };
  }
}

/** Options of `launch.pl`, where the folders of the disk will be below `disk`, and of `engine-disk.pl`. */
export function diskOptions(disk: HandDisk, folders: readonly string[]): string[] {
  const names = folders.flatMap((name) => ["--folder", name]);
  return ["--disk", disk.image, "--template", disk.template, ...names];
}

function sizeOf(file: string): number | undefined {
  return lstatSync(file, { throwIfNoEntry: false })?.size;
}

async function isGood(options: FindDisksOptions, template: string): Promise<boolean> {
  try {
    await tryOne(options, template);
    return true;
  } catch {
    // The reason is that of the next attempt, with a template that is new.
    return false;
  }
}

async function tryOne({ folder, tryMount }: FindDisksOptions, template: string): Promise<void> {
  const image = join(folder, "disk-trial.ext4");
  const stage = join(folder, "disk-trial");
  await rm(image, { force: true });
  await mkdir(stage, { recursive: true, mode: 0o700 });
  closeSync(openSync(image, "wx", 0o600));
  try {
    await tryMount({ image, template, bytes: 0 }, stage);
  } finally {
    rmSync(image, { force: true });
  }
}

/** What the program said, without its name. */
function reasonOf(error: unknown): string {
  const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
  const message = said || (error instanceof Error ? error.message : String(error));
  return message.replace(/^drover-(?:launch: )?(?:disk: )?/, "").slice(0, REASON_LENGTH_MAX);
}
