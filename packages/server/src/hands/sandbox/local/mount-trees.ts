import { join } from "node:path";
import type { FileMount, Recipe } from "../../../core/ports/hands.ts";
import type { ProvisionRequest } from "../../../core/ports/sandbox.ts";
import { checkpointMount } from "../../checkpoints/restore-checkpoint.ts";
import type { SkillCache } from "../../skills/skill-cache.ts";
import { makeSkillTree } from "../../skills/skill-tree.ts";
import type { MountTrees } from "./sandbox-launcher.ts";
import { UploadTree } from "./upload-tree.ts";

export interface MountSources {
  /** The file that holds a blob. */
  readonly blobPath: (workspaceId: string, sha256: string) => string;
  /** The file that holds a blob of the skills that are there for all workspaces. */
  readonly installedPath?: ((sha256: string) => string) | undefined;
  readonly skills: SkillCache;
}

/** The folders of what is mounted, of which that of the files can be changed below a running sandbox. */
export interface MadeTrees {
  readonly trees: MountTrees;
  readonly uploads: UploadTree;
}

/** Made anew or as an earlier sandbox of the hand had them. */
export async function makeMountTrees(
  { workspaceId, recipe }: ProvisionRequest,
  { handFolder, isForeign }: { handFolder: string; isForeign: boolean },
  { blobPath, installedPath, skills: cache }: MountSources,
): Promise<MadeTrees> {
  const blobOf = (sha256: string) => blobPath(workspaceId, sha256);
  const place = { handFolder, blobPath: blobOf, isForeign };
  const uploads = await UploadTree.make(place, uploadsOf(recipe));
  const skills = await makeSkillTree({
    folder: join(handFolder, "skills"),
    cache,
    workspaceId,
    mounts: recipe.mounts.filter((mount) => mount.type === "skill"),
    blobPath,
    installedPath,
  });
  return { uploads, trees: { uploads: uploads.path, ...(skills !== undefined && { skills }) } };
}

/** What a sandbox of the recipe has below `/mnt/session/uploads`. */
export function uploadsOf({ mounts, checkpoint }: Recipe): readonly FileMount[] {
  const files = mounts.filter((mount) => mount.type === "file");
  return checkpoint === undefined ? files : [...files, checkpointMount(checkpoint)];
}
