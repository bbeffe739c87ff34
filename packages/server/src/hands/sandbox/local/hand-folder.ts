import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";

const HAND_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** Where the hands of an installation are kept. */
export function handsFolderOf(dataFolder: string): string {
  return join(dataFolder, "hands");
}

export function canBeFolder(handId: string): boolean {
  return HAND_ID.test(handId);
}

/** Throws for an id that is not to become a path. */
export function checkHandId(handId: string): void {
  if (!canBeFolder(handId)) throw new Error(`${JSON.stringify(handId)} is not the id of a hand`);
}

/**
 * What the host keeps for one hand. It makes and deletes these folders and never looks below the
 * writable ones: what is in there is the sandbox's.
 */
export class HandFolder {
  readonly path: string;
  readonly workspace: string;
  readonly outputs: string;
  readonly spill: string;
  /** Where the launcher puts together what it shows, in a mount namespace of its own. */
  readonly stage: string;
  readonly writable: readonly string[];

  constructor(handsFolder: string, handId: string) {
    checkHandId(handId);
    this.path = join(handsFolder, handId);
    this.workspace = join(this.path, "workspace");
    this.outputs = join(this.path, "outputs");
    this.spill = join(this.path, "spill");
    this.stage = join(this.path, "stage");
    this.writable = [this.workspace, this.outputs, this.spill];
  }

  make(): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    mkdirSync(this.stage, { recursive: true, mode: 0o700 });
    for (const folder of this.writable) {
      // Only when new: a sandbox may have changed the permissions of its own folders. But for itself it must
      // be able to use them, or no later one would begin.
      if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o755);
      const mode = lstatSync(folder).mode & 0o7777;
      if ((mode & 0o700) !== 0o700) chmodSync(folder, mode | 0o700);
    }
  }

  /** Throws if a sandbox with this process's own uid could not write its workspace. */
  checkOwner(): void {
    const uid = process.getuid?.();
    const owner = this.writable.map((folder) => lstatSync(folder).uid).find((id) => id !== uid);
    if (owner === undefined) return;
    throw new SandboxUnavailableError(
      `the workspace ${this.path} belongs to uid ${owner}: start the server as the user that made it`,
    );
  }
}
